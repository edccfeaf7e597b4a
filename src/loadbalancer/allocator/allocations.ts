import type { Address } from "../../ip/address.ts";
import type { AddressRequest, Sharing } from "../services/address-request.ts";
import type { PoolState } from "./pool-state.ts";
import { quote } from "../../ip/error.ts";
import { joinFirst } from "../../util/text.ts";

export interface Allocation {
  readonly pool: string;
  /** In the order of the Service's status. */
  readonly addresses: readonly Address[];
  readonly before?: readonly Address[];
}

export interface AllocationEntry {
  readonly request: AddressRequest;
  readonly allocation: Allocation;
  readonly poolState: PoolState;
}

export interface FreedAddress {
  readonly poolState: PoolState;
  readonly address: Address;
  /** Only for this sharing group; undefined: for all. */
  readonly group?: string;
  /** Only for requests with one of these ports: the others could have had it before. */
  readonly ports?: readonly string[];
}

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
    const [before, after] = [sharingGroup(old.sharing), sharingGroup(request.sharing)];
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
      const group = sharingGroup(request.sharing);
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

export class AddressSharing {
  readonly address: Address;
  readonly #services = new Map<string, AddressRequest>();
  /** Port to Service. */
  readonly #ports = new Map<string, string>();

  constructor(address: Address) {
    this.address = address;
  }

  get isEmpty(): boolean {
    return this.#services.size === 0;
  }

  has(key: string): boolean {
    return this.#services.has(key);
  }

  /** The common sharing group; undefined if the address is not shared. */
  get group(): string | undefined {
    const [any] = this.#services.values();
    return any && sharingGroup(any.sharing);
  }

  join(request: AddressRequest): void {
    this.#services.set(request.key, request);
    for (const port of request.sharing.ports) this.#ports.set(port, request.key);
  }

  leave(key: string): void {
    for (const port of this.#services.get(key)?.sharing.ports ?? []) this.#ports.delete(port);
    this.#services.delete(key);
  }

  conflictsOf({ key, sharing }: AddressRequest): readonly AddressRequest[] {
    const others = this.#services.size - (this.#services.has(key) ? 1 : 0);
    if (others === 0) return [];
    const keys = this.#agreesWith(key, sharing) ? sharing.ports.map((port) => this.#ports.get(port)) : this.#services.keys();
    return [...new Set(keys)].flatMap((other) => (other === undefined || other === key ? [] : (this.#services.get(other) ?? [])));
  }

  /** Why it cannot share the address, in MetalLB's words. */
  conflictMessage({ key, sharing }: AddressRequest): string {
    if (!this.#agreesWith(key, sharing)) {
      const others = [...this.#services.keys()].filter((other) => other !== key);
      const named = joinFirst(others, MAX_NAMED, { separator: "," });
      return `can't change sharing key for ${quote(key)}, address also in use by ${named}`;
    }
    const taken = sharing.ports.find((port) => (this.#ports.get(port) ?? key) !== key);
    return `port ${taken ?? ""} is already in use on ${quote(this.address.toString())}`;
  }

  #agreesWith(key: string, sharing: Sharing): boolean {
    const group = sharingGroup(sharing);
    for (const [other, request] of this.#services) if (other !== key) return group !== undefined && group === sharingGroup(request.sharing);
    return true;
  }
}

const MAX_NAMED = 10;

/** Equal for Services that may share an address; undefined if it does not share. */
export function sharingGroup({ key, backend }: Sharing): string | undefined {
  return key === "" ? undefined : JSON.stringify([key, backend]);
}
