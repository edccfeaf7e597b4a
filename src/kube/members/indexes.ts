/** Indexes from which nodes derive their addresses. A freed index is not reused for a day. */

export interface NodeIndex {
  index: number;
}

export interface FreedIndex {
  index: number;
  at: string;
}

export interface Indexes {
  indexes: Readonly<Record<string, NodeIndex>>;
  freed: readonly FreedIndex[];
}

const restMs = 24 * 60 * 60 * 1000;

/**
 * Keeps the indexes of existing nodes, frees those of deleted nodes, and gives each new node the index that it already carries, if it is
 * unused, or else the lowest unused one that was not freed within 24 h.
 */
export function assignIndexes(
  { indexes, freed }: Indexes,
  nodes: Iterable<string>,
  now: Date,
  carried: ReadonlyMap<string, number> = new Map(),
): Indexes {
  const present = new Set(nodes);
  const kept = Object.entries(indexes).filter(([node]) => present.has(node));
  const left = Object.entries(indexes).filter(([node]) => !present.has(node));
  const resting = [
    // If a clock is set back, a freed index only stays reserved for longer.
    ...freed.filter(({ at }) => now.getTime() - Date.parse(at) < restMs),
    ...left.map(([, { index }]) => ({ index, at: now.toISOString() })),
  ];

  const keptNodes = new Set(kept.map(([node]) => node));
  const owned = new Set(kept.map(([, { index }]) => index));
  const arrived = [...present].filter((node) => !keptNodes.has(node)).sort();
  const brought: [string, NodeIndex][] = [];
  for (const node of arrived) {
    const index = carried.get(node);
    if (index === undefined || owned.has(index)) continue;
    owned.add(index);
    brought.push([node, { index }]);
  }
  const back = resting.filter(({ index }) => !owned.has(index));

  const taken = new Set([...owned, ...back.map(({ index }) => index)]);
  const assigned = new Set(brought.map(([node]) => node));
  let lowest = 0;
  const given = arrived
    .filter((node) => !assigned.has(node))
    .map((node): [string, NodeIndex] => {
      while (taken.has(lowest)) lowest += 1;
      taken.add(lowest);
      return [node, { index: lowest }];
    });

  return { indexes: Object.fromEntries([...kept, ...brought, ...given]), freed: back };
}
