import type { Family } from "../../ip/address.ts";
import type { Wish } from "../services/address-request.ts";
import { FreeNumbers } from "./free-numbers.ts";
import type { Stock } from "./pool-state.ts";

/** In which order pools are tried: those that say whom they are for by priority, then those for everyone, and by name among equals. */
export class PoolOrder {
  readonly all: readonly Stock[];
  readonly #places = new Map<Stock, number>();
  readonly #pinnedTo = new Map<string, Stock[]>();
  readonly #pinned: Stock[] = [];
  readonly #generic: Stock[] = [];
  /** The places among those for everyone that are not full. */
  readonly #open: Readonly<Record<Family, FreeNumbers>>;

  constructor(stocks: Iterable<Stock>) {
    this.all = [...stocks].sort((a, b) => compare(priorityOf(a), priorityOf(b)) || compare(a.name, b.name));
    for (const [place, stock] of this.all.entries()) {
      this.#places.set(stock, place);
      if (stock.pool?.autoAssign) this.#file(stock, stock.pool.allocation);
    }
    this.#open = { 4: new FreeNumbers(this.#generic.length), 6: new FreeNumbers(this.#generic.length) };
    for (const [place, { spaces }] of this.#generic.entries()) {
      spaces[4].watch((isFull) => (isFull ? this.#open[4].take(place) : this.#open[4].give(place)));
      spaces[6].watch((isFull) => (isFull ? this.#open[6].take(place) : this.#open[6].give(place)));
    }
  }

  /** Those that a Service which asks for none by name can have an address from. */
  *for(wish: Wish): Generator<Stock, void> {
    yield* this.#pinnedFor(wish);
    yield* this.#generic;
  }

  /** The same without those for everyone that come first and are full. */
  *openFor(wish: Wish, families: readonly Family[]): Generator<Stock, void> {
    yield* this.#pinnedFor(wish);
    // A full pool may still have an address to share.
    const first = wish.sharing.key === "" ? Math.max(...families.map((family) => this.#open[family].lowest() ?? Infinity)) : 0;
    for (let place = first; place < this.#generic.length; place++) {
      const stock = this.#generic[place];
      if (stock) yield stock;
    }
  }

  /** The audiences of all of them. */
  audiences(wish: Wish): Set<string> {
    return new Set([...this.#pinnedFor(wish), ...this.#generic.slice(0, 1)].map(({ audience }) => audience));
  }

  #pinnedFor(wish: Wish): readonly Stock[] {
    const pinned = [...(this.#pinnedTo.get(wish.namespace) ?? []), ...this.#pinned];
    return pinned.filter((stock) => stock.objectionTo(wish) === undefined).sort((a, b) => this.#place(a) - this.#place(b));
  }

  #file(stock: Stock, allocation: NonNullable<Stock["pool"]>["allocation"]): void {
    if (!allocation) this.#generic.push(stock);
    else if (!allocation.namespaces) this.#pinned.push(stock);
    else {
      for (const namespace of allocation.namespaces) {
        const filed = this.#pinnedTo.get(namespace);
        if (filed) filed.push(stock);
        else this.#pinnedTo.set(namespace, [stock]);
      }
    }
  }

  #place(stock: Stock): number {
    return this.#places.get(stock) ?? Infinity;
  }
}

/** Pools for everyone come after all others, whatever their priority. */
function priorityOf({ pool }: Stock): number {
  return pool?.allocation ? Math.min(pool.allocation.priority, Number.MAX_VALUE) : Infinity;
}

function compare<T extends number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
