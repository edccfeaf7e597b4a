import { doubtSince, requiredSize, type Trains, vtepPairs } from "./datagrams.ts";
import { type PairStates, suspectSince } from "./pairs.ts";
import { peersOf } from "./peers.ts";
import type { LocalVni, Pair, ProbeInputs } from "./prober.ts";

/** Frames are small: the least of Ethernet. */
export const SMALL_FRAME = 64;
/** A node that is cut off is a suspect in many VNIs. */
const MOST_KEPT = 64;
/** Each of them is measured by a train of datagrams every second. */
const MOST_KEPT_VTEPS = 16;

/** A frame in a VNI. */
export type FramePair = Pair & { readonly size: number };

export interface PairChoice {
  readonly inputs: ChoiceInputs;
  readonly turn: number;
  /** Whose turn it is. */
  readonly due: readonly FramePair[];
  /** These, and those of earlier turns that lost their last probe. */
  readonly pairs: readonly FramePair[];
  readonly dueVteps: readonly number[];
  /** The nodes to which datagrams are sent: these, and those of earlier turns whose path lost something. */
  readonly vteps: readonly number[];
}

interface Observed {
  readonly states: PairStates;
  readonly trains: Trains;
}

type ChoiceInputs = Pick<ProbeInputs, "index" | "vnis" | "members" | "lacking"> & { readonly peers: ReadonlyMap<number, unknown> };

/** The pairs to probe. A pair whose turn ends while it is a suspect stays until it is answered: else its failure would be forgotten. */
export function choosePairs(inputs: ChoiceInputs, turn: number, before: PairChoice | undefined, observed: Observed): PairChoice {
  // 100 VNIs of 500 nodes take a while to order.
  const isSame = before?.turn === turn && hasSame(before.inputs, inputs);
  const due = isSame ? before.due : duePairs(inputs, turn);
  const chosen = new Set(due.map(nameOf));
  const vnis = new Map(inputs.vnis.map((vni) => [vni.vni, vni]));
  const kept = earlierFirst(before?.pairs, before?.due).flatMap((pair): FramePair[] => {
    const vni = vnis.get(pair.where);
    const isMember = inputs.peers.has(pair.peer) && inputs.members.get(pair.where)?.includes(pair.peer);
    // Only its answers tell whether the router MAC of a peer is still missing.
    const isLacking = vni?.type === "L3" && inputs.lacking.get(pair.where)?.includes(pair.peer);
    const isKept = isLacking || suspectSince(observed.states, pair) !== undefined;
    return vni && isMember && isKept && !chosen.has(nameOf(pair)) ? [{ ...pair, vni }] : [];
  });
  const dueVteps = isSame ? before.dueVteps : peersOf(inputs.index, [inputs.index, ...inputs.peers.keys()], 0, turn);
  const keptVteps = earlierFirst(before?.vteps, before?.dueVteps).filter(
    (peer) => inputs.peers.has(peer) && !dueVteps.includes(peer) && isInDoubt(peer, inputs, observed),
  );
  return {
    inputs,
    turn,
    due,
    pairs: [...due, ...kept.slice(0, MOST_KEPT)],
    dueVteps,
    vteps: [...dueVteps, ...keptVteps.slice(0, MOST_KEPT_VTEPS)],
  };
}

/** What is reported changes less often if it is those of the last turn that find no room. */
function earlierFirst<T>(all: readonly T[] = [], due: readonly T[] = []): T[] {
  return [...all.slice(due.length), ...due];
}

function isInDoubt(peer: number, inputs: ChoiceInputs, { states, trains }: Observed): boolean {
  const isSuspect = vtepPairs(peer, requiredSize(inputs)).some((pair) => suspectSince(states, pair) !== undefined);
  return isSuspect || doubtSince(trains, peer) !== undefined;
}

/** They are read again every few seconds, and change rarely. */
function hasSame(a: ChoiceInputs, b: ChoiceInputs): boolean {
  if (a === b) return true;
  if (a.index !== b.index || a.vnis.length !== b.vnis.length || a.peers.size !== b.peers.size) return false;
  if (!a.vnis.every((vni, at) => isSameVni(vni, b.vnis[at])) || !a.peers.keys().every((peer) => b.peers.has(peer))) return false;
  return a.vnis.every(({ vni }) => {
    const [before = [], after = []] = [a.members.get(vni), b.members.get(vni)];
    return before.length === after.length && before.every((index, at) => index === after[at]);
  });
}

function isSameVni(one: LocalVni, other: LocalVni | undefined): boolean {
  return one.vni === other?.vni && one.bridge === other.bridge && one.devices === other.devices && one.mtu === other.mtu;
}

function duePairs({ index, vnis, members, peers }: ChoiceInputs, turn: number): FramePair[] {
  return vnis.flatMap((vni) =>
    peersOf(index, members.get(vni.vni) ?? [], vni.vni, turn)
      .filter((peer) => peers.has(peer))
      .map((peer) => ({ peer, where: vni.vni, vni, size: SMALL_FRAME })),
  );
}

function nameOf({ peer, where }: Pair): string {
  return `${peer} ${where}`;
}
