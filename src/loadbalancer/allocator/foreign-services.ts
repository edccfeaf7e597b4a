import type { Address } from "../../ip/address.ts";
import type { AddressRequest } from "../services/address-request.ts";
import type { Pools } from "./pools.ts";
import type { Allocations } from "./allocations.ts";
import type { PoolState } from "./pool-state.ts";

interface ForeignService {
  readonly wish: AddressRequest;
  readonly addresses: readonly Address[];
  /** Its keys in the allocations: one for each pool that it has an address of. */
  seats: readonly string[];
}

/** Foreign Services share with each other, which their own controller decides, and with no Service of ours. */
const SHARING = { key: "*", backend: "*", ports: [] } as const;

/** Services of other controllers and their addresses, which are never allocated again. */
export class ForeignServices {
  readonly #allocations: Allocations;
  readonly #foreignServices = new Map<string, ForeignService>();

  constructor(allocations: Allocations) {
    this.#allocations = allocations;
  }

  has(key: string): boolean {
    return this.#foreignServices.has(key);
  }

  seats(key: string): readonly string[] {
    return this.#foreignServices.get(key)?.seats ?? [];
  }

  seat(request: AddressRequest, addresses: readonly Address[], pools: Pools): void {
    this.unseat(request.key);
    const foreignService: ForeignService = { wish: asForeignService(request), addresses, seats: [] };
    if (addresses.length > 0) this.#foreignServices.set(request.key, foreignService);
    this.#sit(foreignService, pools);
  }

  unseat(key: string): void {
    this.#stand(key);
    this.#foreignServices.delete(key);
  }

  /** All of them, while pools change. */
  standAll(): void {
    for (const key of this.#foreignServices.keys()) this.#stand(key);
  }

  sitAll(pools: Pools): void {
    for (const foreignService of this.#foreignServices.values()) this.#sit(foreignService, pools);
  }

  #stand(key: string): void {
    const foreignService = this.#foreignServices.get(key);
    for (const seat of foreignService?.seats ?? []) this.#allocations.drop(seat);
    if (foreignService) foreignService.seats = [];
  }

  #sit(foreignService: ForeignService, pools: Pools): void {
    const { wish, addresses } = foreignService;
    const parts = new Map<PoolState, Address[]>();
    for (const address of addresses) {
      const poolState = pools.at(address);
      const isOurs = (this.#allocations.tenancy(address)?.opponentsOf(wish).length ?? 0) > 0;
      if (poolState && !isOurs) parts.set(poolState, [...(parts.get(poolState) ?? []), address]);
    }
    foreignService.seats = [...parts].map(([stock, part], nth) => {
      const key = nth === 0 ? wish.key : `${wish.key} (pool ${stock.name})`;
      this.#allocations.hold({ ...wish, key }, stock, part);
      return key;
    });
  }
}

/** On whose terms it has its addresses beside others. */
export function asForeignService(request: AddressRequest): AddressRequest {
  return { ...request, sharing: SHARING };
}
