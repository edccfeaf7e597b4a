import type { Address, Family } from "../../ip/address.ts";
import type { Pool } from "../config/config.ts";
import type { Wish } from "../services/address-request.ts";
import { byAge } from "./age.ts";
import { asOccupant, Occupants } from "./occupants.ts";
import { alternatives, nothingIn, Pools } from "./pools.ts";
import { isSameSet, Prospects } from "./prospects.ts";
import type { Refusal } from "./no-address.ts";
import { Register, type Held } from "./allocations.ts";
import type { Stock, Usage } from "./pool-state.ts";
import { Waiting, type Place, type Waiter } from "./waiters.ts";

export type { Held, Refusal, Usage };

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
  readonly #register = new Register();
  readonly #occupants = new Occupants(this.#register);
  readonly #waiting = new Waiting();
  #pools = new Pools([], []);
  #prospects = new Prospects(this.#pools, this.#register);
  /** Those to be told at the end of the operation. */
  #woken: Wish[] = [];

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
    this.#prospects = new Prospects(now, this.#register);
    if (isSame) return { lost, moved };

    this.#occupants.standAll();
    const affected = [...this.#register.holders()].filter(({ stock }) => !stock.pool || now.get(stock.name) !== stock);
    affected.sort((a, b) => byAge(a.wish, b.wish));
    for (const { wish } of affected) this.#register.drop(wish.key);
    for (const { wish, held } of affected) {
      const home = this.#prospects.homeOf(wish, held.addresses, held.pool);
      if ("refused" in home) {
        lost.push(wish.key);
        this.#holdRest(wish, held);
      } else {
        this.#register.hold(wish, home, held.addresses, held.before);
        if (home.name !== held.pool) moved.push(wish.key);
      }
    }
    this.#occupants.sitAll(now);
    for (const key of [...lost, ...moved]) this.#waiting.delete(key);
    // Everyone is looked at, since the places where one waits have changed.
    this.#register.takeOpenings();
    for (const waiter of this.#waiting.all()) this.#retry(waiter);
    this.#tell();
    return { lost, moved, different };
  }

  /**
   * What the Service has already, by its status: asserted again as often as one likes, also when the wish has changed. If it cannot keep it, it
   * holds nothing afterwards. Of two Services that turn out to have one address and may not share it, the older keeps it.
   */
  claim(wish: Wish, addresses: readonly Address[]): Held | Refusal {
    const outcome = this.#claim(wish, addresses);
    this.#wake();
    return outcome;
  }

  /**
   * What the Service has by its status, before it is decided what becomes of it: where it cannot keep two addresses it holds the one that it may keep,
   * so that nobody else gets it meanwhile.
   */
  reclaim(wish: Wish, addresses: readonly Address[]): void {
    if ("refused" in this.#claim(wish, addresses) && addresses.length > 1) {
      const kept = addresses.find((address) => !("refused" in this.#claim(wish, [address])));
      const holder = kept && this.#register.holder(wish.key);
      if (holder) this.#register.hold(wish, holder.stock, [kept], addresses);
    }
    this.#wake();
  }

  /**
   * What a Service has that someone else serves: nobody else gets it, and it is not for us to take it away. Where one of ours has it too, and shows it,
   * the older keeps it.
   */
  occupy(wish: Wish, addresses: readonly Address[], isShown: (key: string, address: Address) => boolean): void {
    this.#occupants.unseat(wish.key);
    for (const address of addresses) {
      const others = this.#register.tenancy(address)?.opponentsOf(asOccupant(wish)) ?? [];
      if (others.some((other) => byAge(other, wish) < 0 && isShown(other.key, address))) continue;
      for (const other of others) this.#evict(other);
    }
    this.#occupants.seat(wish, addresses, this.#pools);
    this.#wake();
  }

  /** What it holds if it still may, else new addresses. A Service that is refused waits until it is served or released. */
  allocate(wish: Wish): Held | Refusal {
    const outcome = this.#keep(wish) ?? this.#allocate(wish);
    this.#wake();
    return outcome;
  }

  /** The second address of a Service that prefers two and has one, from the same pool. If it is refused it keeps the one, and waits. */
  extend(wish: Wish): Held | Refusal {
    const outcome = this.#keep(wish) ? this.#extend(wish) : this.#allocate(wish);
    this.#wake();
    return outcome;
  }

  /** What the Service asks for in place of what it has. If that is not to be had, it keeps what it has, whatever that is, and waits. */
  exchange(wish: Wish): Held | Refusal {
    const outcome = this.#allocate(wish);
    this.#wake();
    return outcome;
  }

  /** The Service is gone, or wants nothing any more. */
  release(key: string): void {
    this.#letGo(key);
    this.#wake();
  }

  held(key: string): Held | undefined {
    return this.#occupants.has(key) ? undefined : this.#register.holder(key)?.held;
  }

  /** What is in use because of the Service, ours or not, by pool. */
  inUse(key: string): readonly Held[] {
    const keys = this.#occupants.has(key) ? this.#occupants.seats(key) : [key];
    return keys.flatMap((one) => this.#register.holder(one)?.held ?? []);
  }

  /** undefined: there is no such pool. */
  usage(pool: string): Usage | undefined {
    return this.#pools.get(pool)?.usage;
  }

  #claim(wish: Wish, addresses: readonly Address[]): Held | Refusal {
    this.#occupants.unseat(wish.key);
    const holder = this.#register.holder(wish.key);
    const isHeld = holder !== undefined && isSameSet(holder.held.addresses, addresses);
    const home = this.#prospects.homeOf(wish, addresses, isHeld ? holder.held.pool : wish.allocatedFrom);
    if ("refused" in home) {
      this.#letGo(wish.key);
      return home;
    }
    const opponents = this.#prospects.opponents(wish, addresses);
    // Who has moved on in the meantime has no older right to where it was.
    if (opponents.length > 0 && (holder || opponents.some((opponent) => byAge(opponent, wish) < 0))) {
      this.#letGo(wish.key);
      return this.#prospects.taken(wish, home, addresses);
    }
    for (const opponent of opponents) this.#evict(opponent);
    const isChange = isHeld && holder.stock === home;
    const held = isChange ? this.#register.change(holder, wish, addresses) : this.#register.hold(wish, home, addresses);
    this.#waitForSecond(wish);
    return held;
  }

  #keep(wish: Wish): Held | undefined {
    const held = this.held(wish.key);
    const kept = held && this.#claim(wish, held.addresses);
    return kept && "refused" in kept ? undefined : kept;
  }

  #allocate(wish: Wish): Held | Refusal {
    this.#occupants.unseat(wish.key);
    const found = this.#prospects.find(wish);
    if ("refused" in found) {
      this.#wait({ wish });
      return found;
    }
    const held = this.#register.hold(wish, found.stock, found.addresses);
    this.#waitForSecond(wish);
    return held;
  }

  #extend(wish: Wish): Held | Refusal {
    const holder = this.#register.holder(wish.key);
    const missing = this.#missing(wish);
    if (!holder || missing === undefined) return holder?.held ?? this.#allocate(wish);
    const { stock, held } = holder;
    const more = stock.offer([missing], wish.sharing);
    if (!more) return nothingIn(stock, [missing], wish);
    const addresses = [...held.addresses, ...more].sort((a, b) => a.compare(b));
    this.#waiting.delete(wish.key);
    return this.#register.hold(wish, stock, addresses);
  }

  /** What the Service asks for by name may be elsewhere, and one of its families nowhere; what is good is still its own until it has been looked at. */
  #holdRest({ pool: _pool, addresses: _addresses, ...wish }: Wish, { pool, addresses, before = addresses }: Held): void {
    for (const rest of [addresses, ...addresses.map((address) => [address])]) {
      const home = this.#pools.homeOf(wish, rest, pool);
      if ("refused" in home) continue;
      this.#register.hold(wish, home, rest, before);
      return;
    }
  }

  #evict(opponent: Wish): void {
    this.#letGo(opponent.key);
    this.#woken.push(opponent);
  }

  #letGo(key: string): void {
    this.#waiting.delete(key);
    this.#occupants.unseat(key);
    this.#register.drop(key);
  }

  /** The family that it would like an address of besides the one that it has. */
  #missing({ key, families }: Wish): Family | undefined {
    const { addresses } = this.held(key) ?? { addresses: [] };
    return families.find((family) => addresses.every((address) => address.family !== family));
  }

  #waitForSecond(wish: Wish): void {
    const missing = this.#missing(wish);
    const waiter = missing === undefined ? undefined : { wish, missing };
    if (waiter && !this.#isServable(waiter)) this.#wait(waiter);
    else this.#waiting.delete(wish.key);
  }

  #wait(waiter: Waiter): void {
    this.#waiting.add(waiter, this.#placesOf(waiter));
  }

  #placesOf({ wish, missing }: Waiter): Place[] {
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
    if (missing === undefined) return !("refused" in this.#prospects.find(wish));
    return this.#register.holder(wish.key)?.stock.offer([missing], wish.sharing) !== undefined;
  }

  /** Whether the pool, which has an opening, has what the waiter lacks. */
  #isServableBy(stock: Stock, waiter: Waiter): boolean {
    const { wish, missing } = waiter;
    if (missing !== undefined || wish.addresses) return this.#isServable(waiter);
    return stock.objectionTo(wish) === undefined && alternatives(wish).some((families) => stock.offer(families, wish.sharing));
  }

  #wake(): void {
    for (const opening of this.#register.takeOpenings()) {
      for (const waiter of this.#waiting.near(opening)) {
        if (this.#isServableBy(opening.stock, waiter)) this.#rouse(waiter);
      }
    }
    this.#tell();
  }

  #rouse({ wish }: Waiter): void {
    this.#waiting.delete(wish.key);
    this.#woken.push(wish);
  }

  #tell(): void {
    const woken = this.#woken.sort(byAge);
    this.#woken = [];
    for (const { key } of woken) this.#onWake(key);
  }
}
