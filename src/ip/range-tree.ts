import type { Address } from "./address.ts";
import { Range } from "./range.ts";

/**
 * Disjoint ranges in order, as a treap: a search tree by address, and a heap by random priority, which keeps it O(log n) deep. Nodes are
 * immutable; a new tree shares all but the changed path. Measured against a sorted array with binary search and splice: 65 536 scattered
 * additions took 3.8 s and 262 144 took 46 s, here 0.65 s and 2.9 s, with lookups of 1 µs against 2 µs.
 */
export type RangeTree = Node | undefined;

interface Node {
  readonly range: Range;
  readonly priority: number;
  readonly below: RangeTree;
  readonly above: RangeTree;
  readonly count: bigint;
}

export function leaf(range: Range): RangeTree {
  return { range, priority: Math.random(), below: undefined, above: undefined, count: range.count };
}

/** All of the first must be below all of the second. */
export function join(low: RangeTree, high: RangeTree): RangeTree {
  if (!low || !high) return low ?? high;
  return low.priority > high.priority ? node(low, low.below, join(low.above, high)) : node(high, join(low, high.below), high.above);
}

/** The ranges below the two addresses, those with an address from first to last, and those above. */
export function splitAt(tree: RangeTree, first: Address, last: Address): [below: RangeTree, between: RangeTree, above: RangeTree] {
  const [below, rest] = split(tree, (range) => range.last.compare(first) < 0);
  const [between, above] = split(rest, (range) => range.first.compare(last) <= 0);
  return [below, between, above];
}

/** The lowest range that does not end before the address. */
export function findRange(tree: RangeTree, address: Address): Range | undefined {
  if (!tree) return undefined;
  if (tree.range.last.compare(address) < 0) return findRange(tree.above, address);
  return findRange(tree.below, address) ?? tree.range;
}

/** From the lowest to the highest address, gaps included. */
export function hull(tree: RangeTree): Range | undefined {
  if (!tree) return undefined;
  let [lowest, highest] = [tree, tree];
  while (lowest.below) lowest = lowest.below;
  while (highest.above) highest = highest.above;
  return new Range(lowest.range.first, highest.range.last);
}

export function* walk(tree: RangeTree): Generator<Range, void> {
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
