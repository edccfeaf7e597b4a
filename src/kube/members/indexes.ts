/** Numbers that nodes derive their addresses from. A number that was someone's rests for a day before it is someone else's. */

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
 * Keeps what existing nodes have, frees what belonged to nodes that are gone, and gives each new node the index that it carries already, if no
 * other node has that, or else the lowest unused and not freed within 24 h.
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
    // A clock that was set back makes a freed index look younger, which only makes it rest longer.
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
