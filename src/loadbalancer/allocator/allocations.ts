import type { Address } from "../../ip/address.ts";
import type { AddressRequest } from "../services/address-request.ts";
import type { PoolState } from "./pool-state.ts";
import { groupOf, AddressSharing } from "./sharing.ts";

export interface Allocation {
  readonly pool: string;
  /** In the order in which the Service shows them. */
  readonly addresses: readonly Address[];
  /** Its addresses before it lost some; not decided yet. */
  readonly before?: readonly Address[];
}

export interface AllocationEntry {
  readonly wish: AddressRequest;
  readonly held: Allocation;
  readonly stock: PoolState;
}

/** A freed address, or one that more Services can now share. */
export interface FreedAddress {
  readonly stock: PoolState;
  readonly address: Address;
  /** Only for those of this sharing group; undefined: for everyone. */
  readonly group?: string;
  /** Only for those who want one of these ports: the others could have had it before. */
  readonly ports?: readonly string[];
}

/** Which Service has which address in which pool. It does not validate. */
export class Allocations {
  readonly #holders = new Map<string, AllocationEntry>();
  readonly #tenancies = new Map<number | string, AddressSharing>();
  #openings: FreedAddress[] = [];

  holder(key: string): AllocationEntry | undefined {
    return this.#holders.get(key);
  }

  holders(): Iterable<AllocationEntry> {
    return this.#holders.values();
  }

  tenancy(address: Address): AddressSharing | undefined {
    return this.#tenancies.get(indexOf(address));
  }

  /** The addresses freed since the last call. */
  takeOpenings(): readonly FreedAddress[] {
    const openings = this.#openings;
    this.#openings = [];
    return openings;
  }

  hold(request: AddressRequest, poolState: PoolState, addresses: readonly Address[], before?: readonly Address[]): Allocation {
    this.drop(request.key);
    const allocation = { pool: poolState.name, addresses, ...(before && { before }) };
    this.#holders.set(request.key, { wish: request, held: allocation, stock: poolState });
    poolState.services += 1;
    for (const address of addresses) this.#enter(request, poolState, address);
    return allocation;
  }

  /** The addresses that it has, on other terms or in another order. */
  change({ stock, wish: old }: AllocationEntry, request: AddressRequest, addresses: readonly Address[]): Allocation {
    const allocation = { pool: stock.name, addresses };
    const [before, after] = [groupOf(old.sharing), groupOf(request.sharing)];
    const left = old.sharing.ports.filter((port) => !request.sharing.ports.includes(port));
    this.#holders.set(request.key, { wish: request, held: allocation, stock });
    for (const address of addresses) {
      this.#leave(old, stock, address);
      this.#enter(request, stock, address);
      if (after === undefined) continue;
      if (before !== after) this.#openings.push({ stock, address, group: after });
      else if (left.length > 0) this.#openings.push({ stock, address, group: after, ports: left });
    }
    return allocation;
  }

  drop(key: string): void {
    const holder = this.#holders.get(key);
    if (!holder) return;
    const { wish, held, stock } = holder;
    this.#holders.delete(key);
    stock.services -= 1;
    for (const address of held.addresses) {
      const isFree = this.#leave(wish, stock, address);
      const group = groupOf(wish.sharing);
      if (isFree) this.#openings.push({ stock, address });
      else if (group !== undefined) this.#openings.push({ stock, address, group, ports: wish.sharing.ports });
    }
  }

  #enter(request: AddressRequest, poolState: PoolState, address: Address): void {
    const sharing = this.tenancy(address) ?? new AddressSharing(address);
    const first = sharing.isEmpty;
    sharing.join(request);
    if (first) {
      this.#tenancies.set(indexOf(address), sharing);
      poolState.assigned[address.family] += 1;
    }
    poolState.spaces[address.family].enter(address, request.sharing, first);
  }

  #leave(request: AddressRequest, poolState: PoolState, address: Address): boolean {
    const sharing = this.tenancy(address);
    if (!sharing?.has(request.key)) return false;
    sharing.leave(request.key);
    const last = sharing.isEmpty;
    if (last) {
      this.#tenancies.delete(indexOf(address));
      poolState.assigned[address.family] -= 1;
    }
    poolState.spaces[address.family].leave(address, request.sharing, last);
    return last;
  }
}

/** IPv6 as text: numbers of 128 bits that differ only in the upper half have one hash. */
function indexOf({ family, value }: Address): number | string {
  return family === 4 ? Number(value) : value.toString(36);
}
