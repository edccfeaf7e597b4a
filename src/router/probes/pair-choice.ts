import { type PairStates, suspectSince } from "./pairs.ts";
import { peersOf } from "./peers.ts";
import type { Pair, ProbeInputs } from "./prober.ts";

/** Frames are small: the least of Ethernet. */
export const SMALL_FRAME = 64;
/** A node that is cut off is a suspect in many VNIs. */
const MOST_KEPT = 64;

/** A frame in a VNI. */
export type FramePair = Pair & { readonly size: number };

export interface PairChoice {
  readonly inputs: ChoiceInputs;
  readonly turn: number;
  /** Whose turn it is. */
  readonly due: readonly FramePair[];
  /** These, and those of earlier turns that lost their last probe. */
  readonly pairs: readonly FramePair[];
}

type ChoiceInputs = Pick<ProbeInputs, "index" | "vnis" | "members"> & { readonly peers: ReadonlyMap<number, unknown> };

/** The pairs to probe. A pair whose turn ends while it is a suspect stays until it is answered: else its failure would be forgotten. */
export function choosePairs(inputs: ChoiceInputs, turn: number, before: PairChoice | undefined, states: PairStates): PairChoice {
  // 100 VNIs of 500 nodes take a while to order.
  const due = before?.inputs === inputs && before.turn === turn ? before.due : duePairs(inputs, turn);
  const chosen = new Set(due.map(nameOf));
  const vnis = new Map(inputs.vnis.map((vni) => [vni.vni, vni]));
  const kept = (before?.pairs ?? []).flatMap((pair): FramePair[] => {
    const vni = vnis.get(pair.where);
    const isMember = inputs.peers.has(pair.peer) && inputs.members.get(pair.where)?.includes(pair.peer);
    return vni && isMember && !chosen.has(nameOf(pair)) && suspectSince(states, pair) !== undefined ? [{ ...pair, vni }] : [];
  });
  return { inputs, turn, due, pairs: [...due, ...kept.slice(0, MOST_KEPT)] };
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
