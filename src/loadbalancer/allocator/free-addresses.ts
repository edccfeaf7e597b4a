import { Address, type Family } from "../../ip/address.ts";
import type { Sharing } from "../services/address-request.ts";
import { FreeNumbers } from "./free-numbers.ts";
import { byFirst, locate, numberOf, sizeOf, valueAt, type AddressSegment } from "./segment.ts";
import { SharingGroup } from "./sharing-group.ts";
import { groupOf } from "./sharing.ts";

/** Higher numbers are not tracked: a pool of that size never gets so full that they are needed. */
const COUNTED = BigInt(Number.MAX_SAFE_INTEGER);

/** The addresses of one family of a pool, numbered in the order of its ranges, and which of them are free or may be shared. */
export class FreeAddresses {
  /** How many addresses there are, in use or not. */
  readonly capacity: bigint;
  readonly #family: Family;
  readonly #segments: readonly AddressSegment[];
  readonly #ascending: readonly AddressSegment[];
  readonly #free: FreeNumbers;
  readonly #groups = new Map<string, SharingGroup>();
  #watcher: ((isFull: boolean) => void) | undefined;

  constructor(family: Family, segments: readonly AddressSegment[]) {
    this.#family = family;
    this.#segments = segments.filter((segment) => segment.family === family);
    this.#ascending = this.#segments.toSorted(byFirst);
    this.capacity = this.#segments.reduce((sum, segment) => sum + sizeOf(segment), 0n);
    this.#free = new FreeNumbers(Number(this.capacity < COUNTED ? this.capacity : COUNTED));
  }

  get hasFree(): boolean {
    return this.#free.lowest() !== undefined;
  }

  /** Calls the observer with whether it is full, now and on every change. */
  watch(watcher: (isFull: boolean) => void): void {
    this.#watcher = watcher;
    watcher(!this.hasFree);
  }

  hasGroup(group: string): boolean {
    return this.#groups.has(group);
  }

  /** The first address that is free or may be shared. */
  first(sharing: Sharing): Address | undefined {
    const group = groupOf(sharing);
    const shared = group === undefined ? undefined : this.#groups.get(group)?.lowest(sharing.ports);
    const number = Math.min(this.#free.lowest() ?? Infinity, shared ?? Infinity);
    return number === Infinity ? undefined : this.#addressAt(number);
  }

  /** A Service now has the address; `first`: it was free before. */
  enter(address: Address, sharing: Sharing, first: boolean): void {
    const number = this.#numberOf(address);
    if (number === undefined) return;
    if (first) this.#take(number);
    const name = groupOf(sharing);
    if (name === undefined) return;
    const group = this.#groups.get(name) ?? new SharingGroup();
    this.#groups.set(name, group);
    if (first) group.add(number);
    group.take(number, sharing.ports);
  }

  /** A Service no longer has the address; `last`: it is free now. */
  leave(address: Address, sharing: Sharing, last: boolean): void {
    const number = this.#numberOf(address);
    if (number === undefined) return;
    if (last) this.#give(number);
    const name = groupOf(sharing);
    const group = name === undefined ? undefined : this.#groups.get(name);
    if (name === undefined || !group) return;
    group.leave(number, sharing.ports);
    if (last) group.remove(number);
    if (group.isEmpty) this.#groups.delete(name);
  }

  #take(number: number): void {
    this.#free.take(number);
    if (this.#watcher && !this.hasFree) this.#watcher(true);
  }

  #give(number: number): void {
    const wasFull = this.#watcher && !this.hasFree;
    this.#free.give(number);
    if (wasFull) this.#watcher?.(false);
  }

  #numberOf({ value }: Address): number | undefined {
    const segment = locate(this.#ascending, value);
    const number = segment && numberOf(segment, value);
    return number === undefined || number >= COUNTED ? undefined : Number(number);
  }

  #addressAt(number: number): Address {
    const wanted = BigInt(number);
    let [low, high] = [0, this.#segments.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#segments[middle]?.offset ?? wanted) <= wanted) low = middle;
      else high = middle - 1;
    }
    const segment = this.#segments[low];
    if (!segment) throw new RangeError(`no address number ${number}`);
    return new Address(this.#family, valueAt(segment, wanted));
  }
}
