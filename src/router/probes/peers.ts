import { fingerprint, rank } from "../../util/rendezvous-hash.ts";

export interface Peering {
  /** How many nodes each node probes per VNI. */
  readonly peers: number;
  /** Up to this many nodes, each probes all others. */
  readonly allPairs: number;
}

const DEFAULT_PEERING: Peering = { peers: 3, allPairs: 8 };

/**
 * The nodes that one node probes in a VNI. The nodes of a VNI form a ring in an order of its own; a node probes those that follow it, so that each node is
 * also probed by as many. The last one is another node in each turn, until all pairs have been probed.
 */
export function peersOf(
  own: number,
  members: readonly number[],
  vni: number,
  turn: number,
  { peers, allPairs }: Peering = DEFAULT_PEERING,
): number[] {
  const others = members.filter((index) => index !== own);
  if (others.length < allPairs) return others;
  const ring = ringOf(members, vni);
  const at = ring.indexOf(own);
  if (at < 0) return [];
  const follower = (distance: number) => ring[(at + distance) % ring.length] ?? own;
  const fixed = Array.from({ length: peers - 1 }, (_, distance) => follower(distance + 1));
  const rotating = ring.length - peers;
  return [...fixed, follower(peers + (turn % rotating))];
}

/** How many turns it takes until every pair of nodes has been probed. */
export function turnsForAllPairs(members: number, { peers, allPairs }: Peering = DEFAULT_PEERING): number {
  return members - 1 < allPairs ? 1 : members - peers;
}

function ringOf(members: readonly number[], vni: number): number[] {
  const salt = fingerprint(String(vni));
  return members
    .map((index) => ({ index, order: rank(salt, fingerprint(`node ${index}`)) }))
    .sort((a, b) => a.order - b.order || a.index - b.index)
    .map(({ index }) => index);
}
