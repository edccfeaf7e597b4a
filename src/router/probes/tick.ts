import { fingerprint } from "../../util/rendezvous-hash.ts";
import { doubtSince, requiredSize, SMALLER, TRAIN, trainSizes, type Trains, vtepPairs } from "./datagrams.ts";
import { INTERVAL_MS, isDecided, keyOf, type PairId, type PairStates, suspectSince } from "./pairs.ts";
import type { Pair, ProbeInputs } from "./prober.ts";

export const TICK_MS = 1_000;
export const SLOTS = INTERVAL_MS / TICK_MS;
/** Evidence that is still missing is waited for this long. */
export const DOUBT_MS = INTERVAL_MS;
const MOST_FRAMES = 64;
/** For all paths in doubt together. */
const MOST_DATAGRAMS = 128;

interface TickInputs {
  readonly states: PairStates;
  readonly trains: Trains;
  readonly inputs: Pick<ProbeInputs, "vnis">;
  readonly pairs: readonly (Pair & PairId)[];
  readonly vtepPeers: readonly number[];
  readonly slot: number;
  readonly now: number;
}

/** What to send in one tick. Nothing is in it twice. */
export interface TickProbes {
  readonly frames: readonly Pair[];
  readonly datagrams: readonly { readonly peer: number; readonly size: number }[];
  readonly pings: readonly number[];
}

/**
 * A tenth of all pairs; new ones at once; those that lost their last probe; and while a doubt is new, the others of its kind, so that the first report already says which nodes
 * can be reached and which cannot.
 */
export function planTick({ inputs, pairs, vtepPeers, states, trains, slot, now }: TickInputs): TickProbes {
  const required = requiredSize(inputs);
  const suspect = (pair: PairId) => suspectSince(states, pair) !== undefined;
  const vteps = vtepPeers.flatMap((peer) => vtepPairs(peer, required));
  const suspects = [...pairs, ...vteps].filter(suspect);
  const doubts = newDoubts(suspects, states, now);
  const open = (pair: PairId) => {
    const since = doubts.get(kindOf(pair));
    return since !== undefined && !isDecided(states, pair, since);
  };
  const inSlot = (name: string) => fingerprint(name) % SLOTS === slot;
  const isNewPair = (pair: PairId) => !states.has(keyOf(pair));
  const frames = [...pairs.filter(suspect), ...pairs.filter((pair) => !suspect(pair) && (isNewPair(pair) || open(pair)))].slice(
    0,
    MOST_FRAMES,
  );
  const due = pairs.filter(({ peer, where }) => inSlot(`${peer} ${where}`));

  const turn = new Set(vtepPeers.filter((peer) => inSlot(`vtep ${peer}`) || isNewPair({ peer, where: "udp", size: required })));
  const lossy = vtepPeers.filter((peer) => doubtSince(trains, peer) !== undefined);
  const inDoubt = new Set([...suspects.map(({ peer }) => peer), ...lossy]);
  const isNew = doubts.size > 0 || lossy.some((peer) => now - (doubtSince(trains, peer) ?? now) < DOUBT_MS);
  const measured = new Set([...turn, ...inDoubt, ...(isNew ? vtepPeers : [])]);
  const length = Math.min(TRAIN, Math.max(2, Math.floor(MOST_DATAGRAMS / measured.size)));
  const datagrams = [...measured].flatMap((peer) => {
    const large = { peer, where: "udp", size: required } as const;
    const full = turn.has(peer) || suspect(large) || open(large) ? [required] : [];
    const smaller = suspect(large) ? SMALLER.filter((size) => size < required) : [];
    return [...trainSizes(turn.has(peer) ? TRAIN : length), ...full, ...smaller].map((size) => ({ peer, size }));
  });
  return { frames: [...new Set([...due, ...frames])], datagrams, pings: [...inDoubt] };
}

/** Pairs of one VNI, or datagrams of one size. */
function kindOf({ where, size }: PairId): string {
  return `${where} ${size}`;
}

/** Since when pairs of a kind have been in doubt, if that is new. */
function newDoubts(suspects: readonly PairId[], states: PairStates, now: number): Map<string, number> {
  const doubts = new Map<string, number>();
  for (const pair of suspects) {
    const since = suspectSince(states, pair) ?? now;
    if (now - since < DOUBT_MS) doubts.set(kindOf(pair), Math.min(since, doubts.get(kindOf(pair)) ?? since));
  }
  return doubts;
}

/**
 * Whether what was found since then may be reported: all others of the kind were probed too, or there was time enough. A report that is not complete would
 * blame the wrong node.
 */
export function isComplete(pair: PairId, since: number, all: readonly PairId[], states: PairStates, now: number): boolean {
  return now - since >= DOUBT_MS || all.every((other) => kindOf(other) !== kindOf(pair) || isDecided(states, other, since));
}
