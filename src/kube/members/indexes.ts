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

/** Keeps what existing nodes have, frees what belonged to nodes that are gone, and gives each new node the lowest index unused and not freed within 24 h. */
export function assignIndexes({ indexes, freed }: Indexes, nodes: Iterable<string>, now: Date): Indexes {
  const present = new Set(nodes);
  const kept = Object.entries(indexes).filter(([node]) => present.has(node));
  const left = Object.entries(indexes).filter(([node]) => !present.has(node));
  const resting = [
    // A clock that was set back makes a freed index look younger, which only makes it rest longer.
    ...freed.filter(({ at }) => now.getTime() - Date.parse(at) < restMs),
    ...left.map(([, { index }]) => ({ index, at: now.toISOString() })),
  ];

  const taken = new Set([...kept.map(([, { index }]) => index), ...resting.map(({ index }) => index)]);
  const held = new Set(kept.map(([node]) => node));
  const arrived = [...present].filter((node) => !held.has(node)).sort();
  let lowest = 0;
  const given = arrived.map((node): [string, NodeIndex] => {
    while (taken.has(lowest)) lowest += 1;
    taken.add(lowest);
    return [node, { index: lowest }];
  });

  return { indexes: Object.fromEntries([...kept, ...given]), freed: resting };
}
