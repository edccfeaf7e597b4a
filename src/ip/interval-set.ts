import type { Address } from "./address.ts";
import { Range, type Span } from "./range.ts";
import { splitAt, hull, join, leaf, findRange, walk, type RangeTree } from "./range-tree.ts";

/**
 * A set of addresses of both families, iterated as the fewest ranges in order. Immutable: `used = used.with(address)`. Every operation on a
 * span takes O(log n) in the number of ranges.
 */
export class IntervalSet implements Iterable<Range> {
  #tree: RangeTree;

  constructor(spans: Iterable<Span> = []) {
    for (const span of spans) this.#tree = added(this.#tree, span);
  }

  get count(): bigint {
    return this.#tree?.count ?? 0n;
  }

  has(span: Span): boolean {
    return findRange(this.#tree, span.first)?.contains(span) ?? false;
  }

  /** The lowest address of the span that is not in the set. */
  firstFree(span: Span): Address | undefined {
    const range = findRange(this.#tree, span.first);
    if (!range?.contains(span.first)) return span.first;
    const next = range.last.plus(1n);
    return next && next.compare(span.last) <= 0 ? next : undefined;
  }

  with(span: Span): IntervalSet {
    return IntervalSet.#of(added(this.#tree, span));
  }

  without(span: Span): IntervalSet {
    return IntervalSet.#of(removed(this.#tree, span));
  }

  union(other: IntervalSet): IntervalSet {
    return IntervalSet.#of([...other].reduce(added, this.#tree));
  }

  difference(other: IntervalSet): IntervalSet {
    return IntervalSet.#of([...other].reduce(removed, this.#tree));
  }

  intersection(other: IntervalSet): IntervalSet {
    return this.difference(this.difference(other));
  }

  [Symbol.iterator](): Iterator<Range> {
    return walk(this.#tree);
  }

  static #of(tree: RangeTree): IntervalSet {
    const set = new IntervalSet();
    set.#tree = tree;
    return set;
  }
}

function added(tree: RangeTree, { first, last }: Span): RangeTree {
  // Adjacent ranges are merged.
  const [below, touching, above] = splitAt(tree, first.plus(-1n) ?? first, last.plus(1n) ?? last);
  const old = hull(touching);
  const low = old && old.first.compare(first) < 0 ? old.first : first;
  const high = old && old.last.compare(last) > 0 ? old.last : last;
  return join(join(below, leaf(new Range(low, high))), above);
}

function removed(tree: RangeTree, span: Span): RangeTree {
  const [below, overlapping, above] = splitAt(tree, span.first, span.last);
  // Only the outermost ranges can exceed the span.
  const rest = hull(overlapping)?.minus(span) ?? [];
  return join(rest.map(leaf).reduce(join, below), above);
}
