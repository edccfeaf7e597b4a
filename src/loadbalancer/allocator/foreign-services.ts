import type { Address } from "../../ip/address.ts";
import type { AddressRequest } from "../services/address-request.ts";
import type { Pools } from "./pools.ts";
import type { Allocations } from "./allocations.ts";
import type { PoolState } from "./pool-state.ts";

interface ForeignService {
  readonly request: AddressRequest;
  readonly addresses: readonly Address[];
  /** Its keys in the allocations: one for each pool that it has an address of. */
  keys: readonly string[];
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

  keys(key: string): readonly string[] {
    return this.#foreignServices.get(key)?.keys ?? [];
  }

  add(request: AddressRequest, addresses: readonly Address[], pools: Pools): void {
    this.remove(request.key);
    const foreignService: ForeignService = { request: asForeignService(request), addresses, keys: [] };
    if (addresses.length > 0) this.#foreignServices.set(request.key, foreignService);
    this.#allocate(foreignService, pools);
  }

  remove(key: string): void {
    this.#deallocate(key);
    this.#foreignServices.delete(key);
  }

  /** Removes their allocations while pools change. */
  deallocateAll(): void {
    for (const key of this.#foreignServices.keys()) this.#deallocate(key);
  }

  allocateAll(pools: Pools): void {
    for (const foreignService of this.#foreignServices.values()) this.#allocate(foreignService, pools);
  }

  #deallocate(key: string): void {
    const foreignService = this.#foreignServices.get(key);
    for (const add of foreignService?.keys ?? []) this.#allocations.remove(add);
    if (foreignService) foreignService.keys = [];
  }

  #allocate(foreignService: ForeignService, pools: Pools): void {
    const { request, addresses } = foreignService;
    const parts = new Map<PoolState, Address[]>();
    for (const address of addresses) {
      const poolState = pools.at(address);
      const isOurs = (this.#allocations.sharingAt(address)?.conflictsOf(request).length ?? 0) > 0;
      if (poolState && !isOurs) parts.set(poolState, [...(parts.get(poolState) ?? []), address]);
    }
    foreignService.keys = [...parts].map(([poolState, part], nth) => {
      const key = nth === 0 ? request.key : `${request.key} (pool ${poolState.name})`;
      this.#allocations.add({ ...request, key }, poolState, part);
      return key;
    });
  }
}

export function asForeignService(request: AddressRequest): AddressRequest {
  return { ...request, sharing: SHARING };
}
