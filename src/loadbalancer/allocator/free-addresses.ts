import { Address, type Family } from "../../ip/address.ts";
import type { Sharing } from "../services/address-request.ts";
import { byFirst, locate, numberOf, sizeOf, valueAt, type AddressSegment } from "./address-index.ts";
import { sharingGroup } from "./allocations.ts";

/** Higher numbers are not tracked: a pool of that size never gets so full that they are needed. */
const COUNTED = BigInt(Number.MAX_SAFE_INTEGER);

/** The addresses of one family of a pool, numbered in the order of its ranges, and which of them are free or may be shared. */
export class FreeAddresses {
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

  watch(watcher: (isFull: boolean) => void): void {
    this.#watcher = watcher;
    watcher(!this.hasFree);
  }

  hasGroup(group: string): boolean {
    return this.#groups.has(group);
  }

  /** The first address that is free or may be shared. */
  first(sharing: Sharing): Address | undefined {
    const group = sharingGroup(sharing);
    const shared = group === undefined ? undefined : this.#groups.get(group)?.lowest(sharing.ports);
    const number = Math.min(this.#free.lowest() ?? Infinity, shared ?? Infinity);
    return number === Infinity ? undefined : this.#addressAt(number);
  }

  /** A Service now has the address; `first`: it was free before. */
  enter(address: Address, sharing: Sharing, first: boolean): void {
    const number = this.#numberOf(address);
    if (number === undefined) return;
    if (first) this.#take(number);
    const name = sharingGroup(sharing);
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
    const name = sharingGroup(sharing);
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

/** Which of the numbers from 0 to `count - 1` are free. The lowest is found in O(log n): the lowest returned one, from a heap, or the first never taken. */
export class FreeNumbers {
  readonly #count: number;
  readonly #taken = new Set<number>();
  /** All below it have been taken; those of them that are free again are in the heap. */
  #untouched = 0;
  readonly #returned: number[] = [];
  readonly #inHeap = new Set<number>();

  constructor(count: number) {
    this.#count = count;
  }

  lowest(): number | undefined {
    for (let top = this.#returned[0]; top !== undefined; top = this.#returned[0]) {
      if (!this.#taken.has(top)) return top;
      this.#inHeap.delete(top);
      dropLowest(this.#returned);
    }
    while (this.#taken.has(this.#untouched)) this.#untouched += 1;
    return this.#untouched < this.#count ? this.#untouched : undefined;
  }

  take(number: number): void {
    this.#taken.add(number);
  }

  give(number: number): void {
    this.#taken.delete(number);
    if (number >= this.#untouched || this.#inHeap.has(number)) return;
    this.#inHeap.add(number);
    put(this.#returned, number);
  }
}

function put(heap: number[], number: number): void {
  let at = heap.length;
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above] ?? 0;
    if (parent <= number) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = number;
}

function dropLowest(heap: number[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (let below = 1; below < heap.length; below = at * 2 + 1) {
    const [left = 0, right = Infinity] = [heap[below], heap[below + 1]];
    const lower = Math.min(left, right);
    if (lower >= last) break;
    heap[at] = lower;
    at = lower === left ? below : below + 1;
  }
  heap[at] = last;
}

/** The addresses, by their numbers, that Services of one sharing key and backend have, and which ports are taken at each. */
export class SharingGroup {
  readonly #numbers: number[] = [];
  readonly #withPort = new Map<string, number[]>();

  get isEmpty(): boolean {
    return this.#numbers.length === 0;
  }

  add(number: number): void {
    insert(this.#numbers, number);
  }

  /** All ports must have been left before. */
  remove(number: number): void {
    remove(this.#numbers, number);
  }

  take(number: number, ports: Iterable<string>): void {
    for (const port of ports) {
      const numbers = this.#withPort.get(port);
      if (numbers) insert(numbers, number);
      else this.#withPort.set(port, [number]);
    }
  }

  leave(number: number, ports: Iterable<string>): void {
    for (const port of ports) {
      const numbers = this.#withPort.get(port);
      if (!numbers) continue;
      remove(numbers, number);
      if (numbers.length === 0) this.#withPort.delete(port);
    }
  }

  /** The lowest number at which none of the ports is taken. */
  lowest(ports: readonly string[]): number | undefined {
    for (let index = 0; ;) {
      const next = ports.reduce((from, port) => this.#firstWithout(port, from), index);
      if (next === index) return this.#numbers[index];
      index = next;
    }
  }

  /** The first index from `from` on at which the port is not taken. */
  #firstWithout(port: string, from: number): number {
    const first = this.#numbers[from];
    const taken = this.#withPort.get(port);
    if (first === undefined || !taken) return from;
    // Those with the port are some of all, and both lists ascend: they run in step up to the first that is without it, and never again after it.
    const start = lowerBound(taken, first);
    let [low, high] = [0, taken.length - start];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (taken[start + middle] === this.#numbers[from + middle]) low = middle + 1;
      else high = middle;
    }
    return from + low;
  }
}

function insert(ascending: number[], number: number): void {
  ascending.splice(lowerBound(ascending, number), 0, number);
}

function remove(ascending: number[], number: number): void {
  const index = lowerBound(ascending, number);
  if (ascending[index] === number) ascending.splice(index, 1);
}

function lowerBound(ascending: readonly number[], number: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? Infinity) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
