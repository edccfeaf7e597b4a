import type { Address } from "../../ip/address.ts";
import type { Wish } from "../services/address-request.ts";
import type { Pools } from "./pools.ts";
import type { Register } from "./allocations.ts";
import type { Stock } from "./pool-state.ts";

interface Occupant {
  readonly wish: Wish;
  readonly addresses: readonly Address[];
  /** As whom it is in the register: once for each pool that it has something of. */
  seats: readonly string[];
}

/** As if all of them agreed with each other, which is not for us to judge, and with nobody else. */
const SHARING = { key: "*", backend: "*", ports: [] } as const;

/** Services that someone else serves, and what they have: whatever our pools say of it, nobody else can have it. */
export class Occupants {
  readonly #register: Register;
  readonly #occupants = new Map<string, Occupant>();

  constructor(register: Register) {
    this.#register = register;
  }

  has(key: string): boolean {
    return this.#occupants.has(key);
  }

  seats(key: string): readonly string[] {
    return this.#occupants.get(key)?.seats ?? [];
  }

  seat(wish: Wish, addresses: readonly Address[], pools: Pools): void {
    this.unseat(wish.key);
    const occupant: Occupant = { wish: asOccupant(wish), addresses, seats: [] };
    if (addresses.length > 0) this.#occupants.set(wish.key, occupant);
    this.#sit(occupant, pools);
  }

  unseat(key: string): void {
    this.#stand(key);
    this.#occupants.delete(key);
  }

  /** All of them, while pools change. */
  standAll(): void {
    for (const key of this.#occupants.keys()) this.#stand(key);
  }

  sitAll(pools: Pools): void {
    for (const occupant of this.#occupants.values()) this.#sit(occupant, pools);
  }

  #stand(key: string): void {
    const occupant = this.#occupants.get(key);
    for (const seat of occupant?.seats ?? []) this.#register.drop(seat);
    if (occupant) occupant.seats = [];
  }

  #sit(occupant: Occupant, pools: Pools): void {
    const { wish, addresses } = occupant;
    const parts = new Map<Stock, Address[]>();
    for (const address of addresses) {
      const stock = pools.at(address);
      const isOurs = (this.#register.tenancy(address)?.opponentsOf(wish).length ?? 0) > 0;
      if (stock && !isOurs) parts.set(stock, [...(parts.get(stock) ?? []), address]);
    }
    occupant.seats = [...parts].map(([stock, part], nth) => {
      const key = nth === 0 ? wish.key : `${wish.key} (pool ${stock.name})`;
      this.#register.hold({ ...wish, key }, stock, part);
      return key;
    });
  }
}

/** On whose terms it has its addresses beside others. */
export function asOccupant(wish: Wish): Wish {
  return { ...wish, sharing: SHARING };
}
