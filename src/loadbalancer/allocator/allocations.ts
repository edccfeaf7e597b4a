import type { Address } from "../../ip/address.ts";
import type { AddressRequest } from "../services/address-request.ts";
import type { PoolState } from "./pool-state.ts";
import { groupOf, AddressSharing } from "./sharing.ts";

export interface Allocation {
  readonly pool: string;
  /** In the order of the Service's status. */
  readonly addresses: readonly Address[];
  /** Its addresses before it lost some, until it is decided. */
  readonly before?: readonly Address[];
}

export interface AllocationEntry {
  readonly request: AddressRequest;
  readonly allocation: Allocation;
  readonly poolState: PoolState;
}

/** A freed address, or one that more Services can now share. */
export interface FreedAddress {
  readonly poolState: PoolState;
  readonly address: Address;
  /** Only for this sharing group; undefined: for all. */
  readonly group?: string;
  /** Only for requests with one of these ports: the others could have had it before. */
  readonly ports?: readonly string[];
}

/** Which Service has which address in which pool. It does not validate. */
export class Allocations {
  readonly #entries = new Map<string, AllocationEntry>();
  readonly #sharing = new Map<number | string, AddressSharing>();
  #freed: FreedAddress[] = [];

  entry(key: string): AllocationEntry | undefined {
    return this.#entries.get(key);
  }

  entries(): Iterable<AllocationEntry> {
    return this.#entries.values();
  }

  sharingAt(address: Address): AddressSharing | undefined {
    return this.#sharing.get(indexOf(address));
  }

  /** The addresses freed since the last call. */
  takeFreed(): readonly FreedAddress[] {
    const freed = this.#freed;
    this.#freed = [];
    return freed;
  }

  add(request: AddressRequest, poolState: PoolState, addresses: readonly Address[], before?: readonly Address[]): Allocation {
    this.remove(request.key);
    const allocation = { pool: poolState.name, addresses, ...(before && { before }) };
    this.#entries.set(request.key, { request, allocation, poolState });
    poolState.services += 1;
    for (const address of addresses) this.#enter(request, poolState, address);
    return allocation;
  }

  /** The same addresses with other sharing terms or in another order. */
  change({ poolState, request: old }: AllocationEntry, request: AddressRequest, addresses: readonly Address[]): Allocation {
    const allocation = { pool: poolState.name, addresses };
    const [before, after] = [groupOf(old.sharing), groupOf(request.sharing)];
    const left = old.sharing.ports.filter((port) => !request.sharing.ports.includes(port));
    this.#entries.set(request.key, { request, allocation, poolState });
    for (const address of addresses) {
      this.#leave(old, poolState, address);
      this.#enter(request, poolState, address);
      if (after === undefined) continue;
      if (before !== after) this.#freed.push({ poolState, address, group: after });
      else if (left.length > 0) this.#freed.push({ poolState, address, group: after, ports: left });
    }
    return allocation;
  }

  remove(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    const { request, allocation, poolState } = entry;
    this.#entries.delete(key);
    poolState.services -= 1;
    for (const address of allocation.addresses) {
      const isFree = this.#leave(request, poolState, address);
      const group = groupOf(request.sharing);
      if (isFree) this.#freed.push({ poolState, address });
      else if (group !== undefined) this.#freed.push({ poolState, address, group, ports: request.sharing.ports });
    }
  }

  #enter(request: AddressRequest, poolState: PoolState, address: Address): void {
    const sharing = this.sharingAt(address) ?? new AddressSharing(address);
    const first = sharing.isEmpty;
    sharing.join(request);
    if (first) {
      this.#sharing.set(indexOf(address), sharing);
      poolState.assigned[address.family] += 1;
    }
    poolState.free[address.family].enter(address, request.sharing, first);
  }

  #leave(request: AddressRequest, poolState: PoolState, address: Address): boolean {
    const sharing = this.sharingAt(address);
    if (!sharing?.has(request.key)) return false;
    sharing.leave(request.key);
    const last = sharing.isEmpty;
    if (last) {
      this.#sharing.delete(indexOf(address));
      poolState.assigned[address.family] -= 1;
    }
    poolState.free[address.family].leave(address, request.sharing, last);
    return last;
  }
}

/** IPv6 as text: numbers of 128 bits that differ only in the upper half have one hash. */
function indexOf({ family, value }: Address): number | string {
  return family === 4 ? Number(value) : value.toString(36);
}
