import { answeredTrainsSince, lossOf, percentOf, requiredSize, SMALLER, type Trains, trainsSince } from "./datagrams.ts";
import { ENOUGH, judge, keyOf, type PairId, type PairStates, type ProbeResult, UNANSWERED_MS, type Verdict } from "./pairs.ts";
import type { ProbeInputs } from "./prober.ts";
import { DOUBT_MS, isComplete } from "./tick.ts";

export interface ProbedPair {
  readonly node: string;
  readonly where: ProbeResult["where"];
  readonly size: number;
  readonly verdict: Verdict;
}

/** What the probes of this node have found. */
export interface ProbeReport {
  readonly pairs: readonly ProbedPair[];
  readonly l3: ReadonlySet<number>;
  /** The VNIs in which FRR lacks the EVPN routes of a node, by node. */
  readonly lacking: ReadonlyMap<string, readonly number[]>;
  /** Nodes with paths that have not been observed for a minute, although their agents are alive. */
  readonly unobserved: readonly string[];
  /** Percent, by node, for paths that lose some datagrams. */
  readonly loss: ReadonlyMap<string, number>;
  /** The largest datagram that passes, by node, where the required size does not. */
  readonly largest: ReadonlyMap<string, { readonly required: number; readonly passes: number | undefined }>;
}

export const NOTHING_PROBED: ProbeReport = {
  pairs: [],
  l3: new Set(),
  lacking: new Map(),
  unobserved: [],
  loss: new Map(),
  largest: new Map(),
};

interface Observations {
  readonly inputs: ProbeInputs;
  readonly pairs: readonly PairId[];
  readonly vtepPeers: readonly number[];
  readonly states: PairStates;
  readonly trains: Trains;
  /** Percent, by peer. */
  readonly loss: ReadonlyMap<number, number>;
  /** Since when there is no result of a pair, by key. */
  readonly wanted: ReadonlyMap<string, number>;
  /** By peer, since when its agent is known to be alive. */
  readonly liveSince: ReadonlyMap<number, number>;
  readonly now: number;
}

export function probeReport(observed: Observations): ProbeReport {
  const { inputs, pairs, vtepPeers, states, trains, now } = observed;
  const required = requiredSize(inputs);
  const liveSince = (peer: number) => observed.liveSince.get(peer);
  const wantedSince = (pair: PairId) => observed.wanted.get(keyOf(pair)) ?? now;
  const path = (peer: number, since: number) => answeredTrainsSince(trains, peer, since);
  const unobserved = new Set<string>();
  const judged = pairs.flatMap(({ peer, where, size }) => {
    const node = inputs.peers.get(peer)?.node;
    if (node === undefined) return [];
    const verdict = judge(states, { peer, where, size }, { now, wantedSince, liveSince, path });
    // An agent that restarts is back before.
    const silentSince = verdict.state === "unknown" ? Math.max(verdict.since, liveSince(peer) ?? Infinity) : Infinity;
    if (now - silentSince > UNANSWERED_MS) unobserved.add(node);
    const early = verdict.state === "failing" && !isComplete({ peer, where, size }, verdict.since, pairs, states, now);
    return [{ node, where, size, verdict: early ? { state: "ok" as const } : verdict }];
  });
  const loss = new Map<string, number>();
  const largest = new Map<string, { required: number; passes: number | undefined }>();
  for (const peer of vtepPeers) {
    const node = inputs.peers.get(peer)?.node;
    if (node === undefined) continue;
    const lost = lossOf(trains, peer);
    if (lost && knowsLoss(observed, lost.since)) loss.set(node, observed.loss.get(peer) ?? percentOf(lost));
    const passes = SMALLER.find((size) => states.get(keyOf({ peer, where: "udp", size }))?.losses === 0);
    largest.set(node, { required, passes });
  }
  const l3 = new Set(inputs.vnis.flatMap(({ vni, type }) => (type === "L3" ? [vni] : [])));
  return { pairs: judged, l3, lacking: lackingByNode(inputs), unobserved: [...unobserved].sort(), loss, largest };
}

/** Whether all paths were measured since one began to lose packets. */
function knowsLoss({ vtepPeers, trains, now }: Observations, since: number): boolean {
  if (now - since >= DOUBT_MS) return true;
  return vtepPeers.every((peer) => {
    const { lost, sent } = trainsSince(trains, peer, since);
    return lossOf(trains, peer) !== undefined || sent >= (lost === 0 || lost === sent ? ENOUGH : 2 * ENOUGH);
  });
}

function lackingByNode({ peers, lacking }: ProbeInputs): Map<string, number[]> {
  const byNode = new Map<string, number[]>();
  for (const [vni, absent] of lacking) {
    for (const peer of absent) {
      const node = peers.get(peer)?.node;
      if (node !== undefined) byNode.set(node, [...(byNode.get(node) ?? []), vni]);
    }
  }
  return byNode;
}
