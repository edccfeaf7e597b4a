import type { Wish } from "../services/wish.ts";
import type { Stock } from "./stock.ts";

/** In which order pools are tried: those that say whom they are for by priority, then those for everyone, and by name among equals. */
export class PoolOrder {
  readonly all: readonly Stock[];
  readonly #places = new Map<Stock, number>();
  readonly #pinnedTo = new Map<string, Stock[]>();
  readonly #pinned: Stock[] = [];
  readonly #generic: Stock[] = [];

  constructor(stocks: Iterable<Stock>) {
    this.all = [...stocks].sort((a, b) => compare(priorityOf(a), priorityOf(b)) || compare(a.name, b.name));
    for (const [place, stock] of this.all.entries()) {
      this.#places.set(stock, place);
      if (stock.pool?.autoAssign) this.#file(stock, stock.pool.allocation);
    }
  }

  /** Those that a Service which asks for none by name can have an address from. */
  for(wish: Wish): readonly Stock[] {
    const ours = this.#pinnedTo.get(wish.namespace) ?? [];
    const pinned = [...ours, ...this.#pinned].filter((stock) => stock.objectionTo(wish) === undefined);
    if (pinned.length === 0) return this.#generic;
    return [...pinned.sort((a, b) => this.#place(a) - this.#place(b)), ...this.#generic];
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
