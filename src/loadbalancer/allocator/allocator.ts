import type { Address, Family } from "../../ip/address.ts";
import type { Pool } from "../config/config.ts";
import type { AddressRequest } from "../services/address-request.ts";
import { byAge } from "./age.ts";
import { asForeignService, ForeignServices } from "./foreign-services.ts";
import { alternatives, poolExhausted, Pools } from "./pools.ts";
import { isSameSet, CandidateFinder } from "./candidates.ts";
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

/**
 * Which Service has which address. In memory and synchronous: an address is held from the moment that it is given. What it costs grows with the
 * logarithm of what is given.
 */
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
   * `onWake` is called with a Service that was refused and could be served now, once until it is refused again; and with one that has lost its
   * address to an older Service that turned out to have it too. It must not call back.
   */
  constructor({ onWake }: { onWake: (key: string) => void }) {
    this.#onWake = onWake;
  }

  /**
   * What is in effect now. `broken` names pools that exist and have no usable form: what they gave stays, and nothing more is given. `lost` are
   * the Services that may not keep what they had, or not for what they ask, and hold only what is still good of it; `moved` those whose addresses are in
   * another pool now. Older ones first; all of them are to be looked at again, and wait for nothing until then. `different` are the pools that are not
   * as they were; undefined where nothing at all is different. It is one step, whatever it takes: 50 000 Services of a pool take a third of a second.
   */
  setPools(pools: Iterable<Pool>, broken: ReadonlySet<string>): PoolChange {
    const [lost, moved]: [string[], string[]] = [[], []];
    const now = new Pools(pools, broken, this.#pools);
    const different = now.differentFrom(this.#pools);
    const isSame = different.length === 0 && now.size === this.#pools.size;
    // It is the new order of pools that is told which of them are full, also where nothing is different.
    this.#pools = now;
    this.#candidates = new CandidateFinder(now, this.#allocations);
    if (isSame) return { lost, moved };

    this.#foreignServices.standAll();
    const affected = [...this.#allocations.holders()].filter(({ stock }) => !stock.pool || now.get(stock.name) !== stock);
    affected.sort((a, b) => byAge(a.wish, b.wish));
    for (const { wish } of affected) this.#allocations.drop(wish.key);
    for (const { wish, held } of affected) {
      const home = this.#candidates.homeOf(wish, held.addresses, held.pool);
      if ("refused" in home) {
        lost.push(wish.key);
        this.#holdRest(wish, held);
      } else {
        this.#allocations.hold(wish, home, held.addresses, held.before);
        if (home.name !== held.pool) moved.push(wish.key);
      }
    }
    this.#foreignServices.sitAll(now);
    for (const key of [...lost, ...moved]) this.#waiting.delete(key);
    // All waiters are checked, since what they wait for has changed.
    this.#allocations.takeOpenings();
    for (const waiter of this.#waiting.all()) this.#retry(waiter);
    this.#report();
    return { lost, moved, different };
  }

  /**
   * What the Service has already, by its status: asserted again as often as one likes, also when the wish has changed. If it cannot keep it, it
   * holds nothing afterwards. Of two Services that turn out to have one address and may not share it, the older keeps it.
   */
  claim(request: AddressRequest, addresses: readonly Address[]): Allocation | NoAddress {
    const outcome = this.#claim(request, addresses);
    this.#wake();
    return outcome;
  }

  /**
   * What the Service has by its status, before it is decided what becomes of it: where it cannot keep two addresses it holds the one that it may keep,
   * so that nobody else gets it meanwhile.
   */
  reclaim(request: AddressRequest, addresses: readonly Address[]): void {
    if ("refused" in this.#claim(request, addresses) && addresses.length > 1) {
      const kept = addresses.find((address) => !("refused" in this.#claim(request, [address])));
      const holder = kept && this.#allocations.holder(request.key);
      if (holder) this.#allocations.hold(request, holder.stock, [kept], addresses);
    }
    this.#wake();
  }

  /**
   * What a Service has that someone else serves: nobody else gets it, and it is not for us to take it away. Where one of ours has it too, and shows it,
   * the older keeps it.
   */
  occupy(request: AddressRequest, addresses: readonly Address[], isShown: (key: string, address: Address) => boolean): void {
    this.#foreignServices.unseat(request.key);
    for (const address of addresses) {
      const others = this.#allocations.tenancy(address)?.opponentsOf(asForeignService(request)) ?? [];
      if (others.some((other) => byAge(other, request) < 0 && isShown(other.key, address))) continue;
      for (const other of others) this.#evict(other);
    }
    this.#foreignServices.seat(request, addresses, this.#pools);
    this.#wake();
  }

  /** Its current addresses if still allowed, else new ones. A Service without an address waits until it is served or released. */
  allocate(request: AddressRequest): Allocation | NoAddress {
    const outcome = this.#keep(request) ?? this.#allocate(request);
    this.#wake();
    return outcome;
  }

  /** The second address of a Service that prefers two and has one, from the same pool. If it is refused it keeps the one, and waits. */
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

  held(key: string): Allocation | undefined {
    return this.#foreignServices.has(key) ? undefined : this.#allocations.holder(key)?.held;
  }

  /** The addresses in use by the Service, ours or not, by pool. */
  inUse(key: string): readonly Allocation[] {
    const keys = this.#foreignServices.has(key) ? this.#foreignServices.seats(key) : [key];
    return keys.flatMap((one) => this.#allocations.holder(one)?.held ?? []);
  }

  /** undefined: there is no such pool. */
  usage(pool: string): Usage | undefined {
    return this.#pools.get(pool)?.usage;
  }

  #claim(request: AddressRequest, addresses: readonly Address[]): Allocation | NoAddress {
    this.#foreignServices.unseat(request.key);
    const holder = this.#allocations.holder(request.key);
    const isHeld = holder !== undefined && isSameSet(holder.held.addresses, addresses);
    const home = this.#candidates.homeOf(request, addresses, isHeld ? holder.held.pool : request.allocatedFrom);
    if ("refused" in home) {
      this.#release(request.key);
      return home;
    }
    const opponents = this.#candidates.opponents(request, addresses);
    // A Service that moved meanwhile has lost its claim on the old address.
    if (opponents.length > 0 && (holder || opponents.some((opponent) => byAge(opponent, request) < 0))) {
      this.#release(request.key);
      return this.#candidates.taken(request, home, addresses);
    }
    for (const opponent of opponents) this.#evict(opponent);
    const isChange = isHeld && holder.stock === home;
    const allocation = isChange ? this.#allocations.change(holder, request, addresses) : this.#allocations.hold(request, home, addresses);
    this.#waitForSecond(request);
    return allocation;
  }

  #keep(request: AddressRequest): Allocation | undefined {
    const allocation = this.held(request.key);
    const kept = allocation && this.#claim(request, allocation.addresses);
    return kept && "refused" in kept ? undefined : kept;
  }

  #allocate(request: AddressRequest): Allocation | NoAddress {
    this.#foreignServices.unseat(request.key);
    const found = this.#candidates.find(request);
    if ("refused" in found) {
      this.#wait({ wish: request });
      return found;
    }
    const allocation = this.#allocations.hold(request, found.stock, found.addresses);
    this.#waitForSecond(request);
    return allocation;
  }

  #extend(request: AddressRequest): Allocation | NoAddress {
    const holder = this.#allocations.holder(request.key);
    const missing = this.#missing(request);
    if (!holder || missing === undefined) return holder?.held ?? this.#allocate(request);
    const { stock, held } = holder;
    const more = stock.offer([missing], request.sharing);
    if (!more) return poolExhausted(stock, [missing], request);
    const addresses = [...held.addresses, ...more].sort((a, b) => a.compare(b));
    this.#waiting.delete(request.key);
    return this.#allocations.hold(request, stock, addresses);
  }

  /** What the Service asks for by name may be elsewhere, and one of its families nowhere; what is good is still its own until it has been looked at. */
  #holdRest({ pool: _pool, addresses: _addresses, ...wish }: AddressRequest, { pool, addresses, before = addresses }: Allocation): void {
    for (const rest of [addresses, ...addresses.map((address) => [address])]) {
      const home = this.#pools.homeOf(wish, rest, pool);
      if ("refused" in home) continue;
      this.#allocations.hold(wish, home, rest, before);
      return;
    }
  }

  #evict(opponent: AddressRequest): void {
    this.#release(opponent.key);
    this.#woken.push(opponent);
  }

  #release(key: string): void {
    this.#waiting.delete(key);
    this.#foreignServices.unseat(key);
    this.#allocations.drop(key);
  }

  /** The family that it would like an address of besides the one that it has. */
  #missing({ key, families }: AddressRequest): Family | undefined {
    const { addresses } = this.held(key) ?? { addresses: [] };
    return families.find((family) => addresses.every((address) => address.family !== family));
  }

  #waitForSecond(request: AddressRequest): void {
    const missing = this.#missing(request);
    const waiter = missing === undefined ? undefined : { wish: request, missing };
    if (waiter && !this.#isServable(waiter)) this.#wait(waiter);
    else this.#waiting.delete(request.key);
  }

  #wait(waiter: Waiter): void {
    this.#waiting.add(waiter, this.#placesOf(waiter));
  }

  #placesOf({ wish, missing }: Waiter): WaitKey[] {
    const pool = missing === undefined ? wish.pool : this.held(wish.key)?.pool;
    if (missing === undefined && wish.addresses) return wish.addresses.map((address) => ({ address }));
    if (pool !== undefined) return [{ pool }];
    return [...this.#pools.audiences(wish)].map((audience) => ({ audience }));
  }

  #retry(waiter: Waiter): void {
    if (this.#isServable(waiter)) this.#rouse(waiter);
    else this.#wait(waiter);
  }

  #isServable({ wish, missing }: Waiter): boolean {
    if (missing === undefined) return !("refused" in this.#candidates.find(wish));
    return this.#allocations.holder(wish.key)?.stock.offer([missing], wish.sharing) !== undefined;
  }

  /** Whether the pool with the freed address has what the waiter lacks. */
  #isServableBy(poolState: PoolState, waiter: Waiter): boolean {
    const { wish, missing } = waiter;
    if (missing !== undefined || wish.addresses) return this.#isServable(waiter);
    return poolState.objectionTo(wish) === undefined && alternatives(wish).some((families) => poolState.offer(families, wish.sharing));
  }

  #wake(): void {
    for (const opening of this.#allocations.takeOpenings()) {
      for (const waiter of this.#waiting.near(opening)) {
        if (this.#isServableBy(opening.stock, waiter)) this.#rouse(waiter);
      }
    }
    this.#report();
  }

  #rouse({ wish }: Waiter): void {
    this.#waiting.delete(wish.key);
    this.#woken.push(wish);
  }

  #report(): void {
    const woken = this.#woken.sort(byAge);
    this.#woken = [];
    for (const { key } of woken) this.#onWake(key);
  }
}
