import type { Address, Family } from "../../ip/address.ts";
import type { Pool } from "../config/config.ts";
import type { AddressRequest } from "../services/address-request.ts";
import { byAge } from "../../util/compare.ts";
import { asForeignService, ForeignServices } from "./foreign-services.ts";
import { alternatives, poolExhausted, Pools, isSameSet, CandidateFinder } from "./pools.ts";
import type { NoAddress } from "./no-address.ts";
import { Allocations, type Allocation } from "./allocations.ts";
import type { PoolState, Usage } from "./pool-state.ts";
import { Waiters, type WaitKey, type Waiter } from "./waiters.ts";

export type { Allocation, NoAddress, Usage };

interface PoolChange {
  readonly lost: readonly string[];
  readonly moved: readonly string[];
  readonly different?: readonly string[];
}

/** Which Service has which address. In memory and synchronous: an address is in use from the moment that it is allocated. An operation costs O(log n). */
export class Allocator {
  readonly #onWake: (key: string) => void;
  readonly #allocations = new Allocations();
  readonly #foreignServices = new ForeignServices(this.#allocations);
  readonly #waiting = new Waiters();
  #pools = new Pools([], []);
  #candidates = new CandidateFinder(this.#pools, this.#allocations);
  /** The waiters to wake at the end of the operation. */
  #woken: AddressRequest[] = [];

  /**
   * `onWake` is called once with a Service that had no address and could get one now, and with one that lost its address to an older Service.
   * It must not call back.
   */
  constructor({ onWake }: { onWake: (key: string) => void }) {
    this.#onWake = onWake;
  }

  /**
   * Sets the effective pools. `broken` names pools that exist without a valid version: they keep their allocations and allocate nothing. `lost` are
   * the Services that may not keep all their addresses and have only the rest; `moved` those whose addresses are in another pool now. Older ones first;
   * all of them have to be decided again and do not wait until then. `different` are the new and changed pools; undefined if nothing changed. It runs in
   * one step: 50 000 Services of a pool take a third of a second.
   */
  setPools(pools: Iterable<Pool>, broken: ReadonlySet<string>): PoolChange {
    const [lost, moved]: [string[], string[]] = [[], []];
    const now = new Pools(pools, broken, this.#pools);
    const different = now.differentFrom(this.#pools);
    const isSame = different.length === 0 && now.size === this.#pools.size;
    // Only the new pool order is notified of full pools, also if nothing is different.
    this.#pools = now;
    this.#candidates = new CandidateFinder(now, this.#allocations);
    if (isSame) return { lost, moved };

    this.#foreignServices.deallocateAll();
    const affected = [...this.#allocations.entries()].filter(({ poolState }) => !poolState.pool || now.get(poolState.name) !== poolState);
    affected.sort((a, b) => byAge(a.request, b.request));
    for (const { request } of affected) this.#allocations.remove(request.key);
    for (const { request, allocation } of affected) {
      const poolState = this.#candidates.poolOf(request, allocation.addresses, allocation.pool);
      if ("noAddress" in poolState) {
        lost.push(request.key);
        this.#keepRest(request, allocation);
      } else {
        this.#allocations.add(request, poolState, allocation.addresses, allocation.before);
        if (poolState.name !== allocation.pool) moved.push(request.key);
      }
    }
    this.#foreignServices.allocateAll(now);
    for (const key of [...lost, ...moved]) this.#waiting.delete(key);
    // All waiters are checked, since what they wait for has changed.
    this.#allocations.takeFreed();
    for (const waiter of this.#waiting.all()) this.#retry(waiter);
    this.#report();
    return { lost, moved, different };
  }

  /**
   * Allocates the addresses that the Service has by its status. Idempotent, also after the request changed. If it cannot keep them, it has none
   * afterwards. Of two Services that have the same address and may not share it, the older keeps it.
   */
  claim(request: AddressRequest, addresses: readonly Address[]): Allocation | NoAddress {
    const outcome = this.#claim(request, addresses);
    this.#wake();
    return outcome;
  }

  /**
   * Claims the addresses of the Service's status before it is decided. If it cannot keep two addresses, it keeps the one that it may have, so that
   * no other Service gets it meanwhile.
   */
  reclaim(request: AddressRequest, addresses: readonly Address[]): void {
    if ("noAddress" in this.#claim(request, addresses) && addresses.length > 1) {
      const kept = addresses.find((address) => !("noAddress" in this.#claim(request, [address])));
      const entry = kept && this.#allocations.entry(request.key);
      if (entry) this.#allocations.add(request, entry.poolState, [kept], addresses);
    }
    this.#wake();
  }

  /**
   * Reserves the addresses of a Service of another controller: they are not allocated, and never released by us. If a Service of ours publishes one
   * too, the older keeps it.
   */
  reserve(request: AddressRequest, addresses: readonly Address[], isPublished: (key: string, address: Address) => boolean): void {
    this.#foreignServices.remove(request.key);
    for (const address of addresses) {
      const others = this.#allocations.sharingAt(address)?.conflictsOf(asForeignService(request)) ?? [];
      if (others.some((other) => byAge(other, request) < 0 && isPublished(other.key, address))) continue;
      for (const other of others) this.#evict(other);
    }
    this.#foreignServices.add(request, addresses, this.#pools);
    this.#wake();
  }

  /** Its current addresses if still allowed, else new ones. A Service without an address waits until it is served or released. */
  allocate(request: AddressRequest): Allocation | NoAddress {
    const outcome = this.#keep(request) ?? this.#allocate(request);
    this.#wake();
    return outcome;
  }

  /** The second address of a Service that prefers two and has one, from the same pool. If there is none it keeps the one, and waits. */
  extend(request: AddressRequest): Allocation | NoAddress {
    const outcome = this.#keep(request) ? this.#extend(request) : this.#allocate(request);
    this.#wake();
    return outcome;
  }

  /** Replaces the addresses of the Service with what it requests. If that is not available, it keeps its addresses and waits. */
  exchange(request: AddressRequest): Allocation | NoAddress {
    const outcome = this.#allocate(request);
    this.#wake();
    return outcome;
  }

  /** The Service is deleted, or no longer requests an address. */
  release(key: string): void {
    this.#release(key);
    this.#wake();
  }

  allocationOf(key: string): Allocation | undefined {
    return this.#foreignServices.has(key) ? undefined : this.#allocations.entry(key)?.allocation;
  }

  inUse(key: string): readonly Allocation[] {
    const keys = this.#foreignServices.has(key) ? this.#foreignServices.keys(key) : [key];
    return keys.flatMap((one) => this.#allocations.entry(one)?.allocation ?? []);
  }

  /** undefined: there is no such pool. */
  usage(pool: string): Usage | undefined {
    return this.#pools.get(pool)?.usage;
  }

  #claim(request: AddressRequest, addresses: readonly Address[]): Allocation | NoAddress {
    this.#foreignServices.remove(request.key);
    const entry = this.#allocations.entry(request.key);
    const isSame = entry !== undefined && isSameSet(entry.allocation.addresses, addresses);
    const poolState = this.#candidates.poolOf(request, addresses, isSame ? entry.allocation.pool : request.allocatedFrom);
    if ("noAddress" in poolState) {
      this.#release(request.key);
      return poolState;
    }
    const conflicts = this.#candidates.conflicts(request, addresses);
    // A Service that moved meanwhile has lost its claim on the old address.
    if (conflicts.length > 0 && (entry || conflicts.some((conflicting) => byAge(conflicting, request) < 0))) {
      this.#release(request.key);
      return this.#candidates.inUse(request, poolState, addresses);
    }
    for (const conflicting of conflicts) this.#evict(conflicting);
    const isChange = isSame && entry.poolState === poolState;
    const allocation = isChange
      ? this.#allocations.change(entry, request, addresses)
      : this.#allocations.add(request, poolState, addresses);
    this.#waitForSecond(request);
    return allocation;
  }

  #keep(request: AddressRequest): Allocation | undefined {
    const allocation = this.allocationOf(request.key);
    const kept = allocation && this.#claim(request, allocation.addresses);
    return kept && "noAddress" in kept ? undefined : kept;
  }

  #allocate(request: AddressRequest): Allocation | NoAddress {
    this.#foreignServices.remove(request.key);
    const found = this.#candidates.find(request);
    if ("noAddress" in found) {
      this.#wait({ request });
      return found;
    }
    const allocation = this.#allocations.add(request, found.poolState, found.addresses);
    this.#waitForSecond(request);
    return allocation;
  }

  #extend(request: AddressRequest): Allocation | NoAddress {
    const entry = this.#allocations.entry(request.key);
    const missing = this.#missing(request);
    if (!entry || missing === undefined) return entry?.allocation ?? this.#allocate(request);
    const { poolState, allocation } = entry;
    const more = poolState.offer([missing], request.sharing);
    if (!more) return poolExhausted(poolState, [missing], request);
    const addresses = [...allocation.addresses, ...more].sort((a, b) => a.compare(b));
    this.#waiting.delete(request.key);
    return this.#allocations.add(request, poolState, addresses);
  }

  /** Its explicit request and one of its families may not be available; it keeps the addresses that are still valid until it is decided. */
  #keepRest({ pool: _pool, addresses: _addresses, ...request }: AddressRequest, { pool, addresses, before = addresses }: Allocation): void {
    for (const rest of [addresses, ...addresses.map((address) => [address])]) {
      const poolState = this.#pools.poolOf(request, rest, pool);
      if ("noAddress" in poolState) continue;
      this.#allocations.add(request, poolState, rest, before);
      return;
    }
  }

  #evict(conflicting: AddressRequest): void {
    this.#release(conflicting.key);
    this.#woken.push(conflicting);
  }

  #release(key: string): void {
    this.#waiting.delete(key);
    this.#foreignServices.remove(key);
    this.#allocations.remove(key);
  }

  /** The family of its second address, if it has only one. */
  #missing({ key, families }: AddressRequest): Family | undefined {
    const { addresses } = this.allocationOf(key) ?? { addresses: [] };
    return families.find((family) => addresses.every((address) => address.family !== family));
  }

  #waitForSecond(request: AddressRequest): void {
    const missing = this.#missing(request);
    const waiter = missing === undefined ? undefined : { request, missing };
    if (waiter && !this.#isServable(waiter)) this.#wait(waiter);
    else this.#waiting.delete(request.key);
  }

  #wait(waiter: Waiter): void {
    this.#waiting.add(waiter, this.#waitKeysOf(waiter));
  }

  #waitKeysOf({ request, missing }: Waiter): WaitKey[] {
    const pool = missing === undefined ? request.pool : this.allocationOf(request.key)?.pool;
    if (missing === undefined && request.addresses) return request.addresses.map((address) => ({ address }));
    if (pool !== undefined) return [{ pool }];
    return [...this.#pools.scopes(request)].map((scope) => ({ scope }));
  }

  #retry(waiter: Waiter): void {
    if (this.#isServable(waiter)) this.#wakeLater(waiter);
    else this.#wait(waiter);
  }

  #isServable({ request, missing }: Waiter): boolean {
    if (missing === undefined) return !("noAddress" in this.#candidates.find(request));
    return this.#allocations.entry(request.key)?.poolState.offer([missing], request.sharing) !== undefined;
  }

  /** Whether the pool with the freed address has what the waiter lacks. */
  #isServableBy(poolState: PoolState, waiter: Waiter): boolean {
    const { request, missing } = waiter;
    if (missing !== undefined || request.addresses) return this.#isServable(waiter);
    return (
      poolState.mismatch(request) === undefined && alternatives(request).some((families) => poolState.offer(families, request.sharing))
    );
  }

  #wake(): void {
    for (const freed of this.#allocations.takeFreed()) {
      for (const waiter of this.#waiting.waitersFor(freed)) {
        if (this.#isServableBy(freed.poolState, waiter)) this.#wakeLater(waiter);
      }
    }
    this.#report();
  }

  #wakeLater({ request }: Waiter): void {
    this.#waiting.delete(request.key);
    this.#woken.push(request);
  }

  #report(): void {
    const woken = this.#woken.sort(byAge);
    this.#woken = [];
    for (const { key } of woken) this.#onWake(key);
  }
}
