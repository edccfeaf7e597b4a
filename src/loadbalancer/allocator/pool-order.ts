import type { Family } from "../../ip/address.ts";
import type { AddressRequest } from "../services/address-request.ts";
import { FreeNumbers } from "./free-numbers.ts";
import type { PoolState } from "./pool-state.ts";

/** The order in which pools are tried: pools with serviceAllocation by priority, then pools for all Services, and by name among equals. */
export class PoolOrder {
  readonly all: readonly PoolState[];
  readonly #places = new Map<PoolState, number>();
  readonly #pinnedTo = new Map<string, PoolState[]>();
  readonly #pinned: PoolState[] = [];
  readonly #generic: PoolState[] = [];
  /** The places among those for everyone that are not full. */
  readonly #open: Readonly<Record<Family, FreeNumbers>>;

  constructor(stocks: Iterable<PoolState>) {
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
  *for(request: AddressRequest): Generator<PoolState, void> {
    yield* this.#pinnedFor(request);
    yield* this.#generic;
  }

  /** The same without those for everyone that come first and are full. */
  *openFor(request: AddressRequest, families: readonly Family[]): Generator<PoolState, void> {
    yield* this.#pinnedFor(request);
    // A full pool may still have an address to share.
    const first = request.sharing.key === "" ? Math.max(...families.map((family) => this.#open[family].lowest() ?? Infinity)) : 0;
    for (let place = first; place < this.#generic.length; place++) {
      const poolState = this.#generic[place];
      if (poolState) yield poolState;
    }
  }

  /** The audiences of all of them. */
  audiences(request: AddressRequest): Set<string> {
    return new Set([...this.#pinnedFor(request), ...this.#generic.slice(0, 1)].map(({ audience }) => audience));
  }

  #pinnedFor(request: AddressRequest): readonly PoolState[] {
    const pinned = [...(this.#pinnedTo.get(request.namespace) ?? []), ...this.#pinned];
    return pinned.filter((poolState) => poolState.objectionTo(request) === undefined).sort((a, b) => this.#place(a) - this.#place(b));
  }

  #file(poolState: PoolState, allocation: NonNullable<PoolState["pool"]>["allocation"]): void {
    if (!allocation) this.#generic.push(poolState);
    else if (!allocation.namespaces) this.#pinned.push(poolState);
    else {
      for (const namespace of allocation.namespaces) {
        const filed = this.#pinnedTo.get(namespace);
        if (filed) filed.push(poolState);
        else this.#pinnedTo.set(namespace, [poolState]);
      }
    }
  }

  #place(poolState: PoolState): number {
    return this.#places.get(poolState) ?? Infinity;
  }
}

/** Pools for everyone come after all others, whatever their priority. */
function priorityOf({ pool }: PoolState): number {
  return pool?.allocation ? Math.min(pool.allocation.priority, Number.MAX_VALUE) : Infinity;
}

function compare<T extends number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
