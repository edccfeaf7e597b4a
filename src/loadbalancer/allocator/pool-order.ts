import type { Family } from "../../ip/address.ts";
import { compare } from "../../util/compare.ts";
import type { AddressRequest } from "../services/address-request.ts";
import { FreeNumbers } from "./free-numbers.ts";
import type { PoolState } from "./pool-state.ts";

/** The order in which pools are tried: pools with serviceAllocation by priority, then pools for all Services, and by name among equals. */
export class PoolOrder {
  readonly all: readonly PoolState[];
  readonly #positions = new Map<PoolState, number>();
  readonly #pinnedTo = new Map<string, PoolState[]>();
  readonly #pinned: PoolState[] = [];
  readonly #generic: PoolState[] = [];
  /** The positions of generic pools that are not full. */
  readonly #open: Readonly<Record<Family, FreeNumbers>>;

  constructor(poolStates: Iterable<PoolState>) {
    this.all = [...poolStates].sort((a, b) => compare(priorityOf(a), priorityOf(b)) || compare(a.name, b.name));
    for (const [position, poolState] of this.all.entries()) {
      this.#positions.set(poolState, position);
      if (poolState.pool?.autoAssign) this.#index(poolState, poolState.pool.allocation);
    }
    this.#open = { 4: new FreeNumbers(this.#generic.length), 6: new FreeNumbers(this.#generic.length) };
    for (const [position, { free: spaces }] of this.#generic.entries()) {
      spaces[4].watch((isFull) => (isFull ? this.#open[4].take(position) : this.#open[4].give(position)));
      spaces[6].watch((isFull) => (isFull ? this.#open[6].take(position) : this.#open[6].give(position)));
    }
  }

  /** The pools for a Service that names none. */
  *for(request: AddressRequest): Generator<PoolState, void> {
    yield* this.#pinnedFor(request);
    yield* this.#generic;
  }

  /** The same without the leading generic pools that are full. */
  *openFor(request: AddressRequest, families: readonly Family[]): Generator<PoolState, void> {
    yield* this.#pinnedFor(request);
    // A full pool may still have an address to share.
    const first = request.sharing.key === "" ? Math.max(...families.map((family) => this.#open[family].lowest() ?? Infinity)) : 0;
    for (let position = first; position < this.#generic.length; position++) {
      const poolState = this.#generic[position];
      if (poolState) yield poolState;
    }
  }

  /** The scopes of all of them. */
  scopes(request: AddressRequest): Set<string> {
    return new Set([...this.#pinnedFor(request), ...this.#generic.slice(0, 1)].map(({ scope: audience }) => audience));
  }

  #pinnedFor(request: AddressRequest): readonly PoolState[] {
    const pinned = [...(this.#pinnedTo.get(request.namespace) ?? []), ...this.#pinned];
    return pinned
      .filter((poolState) => poolState.mismatch(request) === undefined)
      .sort((a, b) => this.#positionOf(a) - this.#positionOf(b));
  }

  #index(poolState: PoolState, allocation: NonNullable<PoolState["pool"]>["allocation"]): void {
    if (!allocation) this.#generic.push(poolState);
    else if (!allocation.namespaces) this.#pinned.push(poolState);
    else {
      for (const namespace of allocation.namespaces) {
        const indexed = this.#pinnedTo.get(namespace);
        if (indexed) indexed.push(poolState);
        else this.#pinnedTo.set(namespace, [poolState]);
      }
    }
  }

  #positionOf(poolState: PoolState): number {
    return this.#positions.get(poolState) ?? Infinity;
  }
}

/** Generic pools come after all others, whatever their priority. */
function priorityOf({ pool }: PoolState): number {
  return pool?.allocation ? Math.min(pool.allocation.priority, Number.MAX_VALUE) : Infinity;
}
