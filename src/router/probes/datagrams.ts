import { ENOUGH, LOSSES, type MeasuredPath, type PairId, type PathLoss, type ProbeResult } from "./pairs.ts";

const SMALL_DATAGRAM = 100;
export const TRAIN = 10;
/** Tried when the required size does not pass. */
export const SMALLER = [8_972, 4_022, 1_522, 1_472, 1_422, 1_372, 1_322, 1_272, 1_222, 1_172, 548];
/** Outer Ethernet payload: IPv4 and UDP header, VXLAN header and inner Ethernet header around the inner MTU; the datagram has its own IPv4 and UDP header. */
const ENCAPSULATION = 22;
const WINDOW_MS = 60_000;
/** While a path is in doubt, a train is sent each second. */
const MOST_TRAINS = 20;

/** Datagrams of one size after the other, so that each is told apart. */
interface Train {
  readonly at: number;
  readonly lost: number;
  readonly sent: number;
  /** When the first of the answered trains in a row was sent, also if it is no longer kept; missing where none was answered. */
  readonly answeredFrom?: number;
}

/** By peer, the oldest first. */
export type Trains = ReadonlyMap<number, readonly Train[]>;

/** The sizes of a train. The first is that of the small datagram, which is a pair of its own. */
export function trainSizes(count: number): number[] {
  return Array.from({ length: count }, (_, number) => SMALL_DATAGRAM + number);
}

/** Adds the trains that are among the results of one round. */
export function observeTrains(trains: Trains, results: readonly ProbeResult[], now: number): Trains {
  const next = new Map(trains);
  for (const [peer, sent] of Map.groupBy(results.filter(isTrain), (result) => result.peer)) {
    const at = sent[0]?.at ?? now;
    const lost = sent.filter(({ answered }) => !answered).length;
    const kept = (next.get(peer) ?? []).filter((train) => now - train.at < WINDOW_MS).slice(1 - MOST_TRAINS);
    const train = { at, lost, sent: sent.length, ...(lost < sent.length && { answeredFrom: kept.at(-1)?.answeredFrom ?? at }) };
    next.set(peer, [...kept, train]);
  }
  return next;
}

/** What is older says nothing of the path now: its peer may be probed again much later. */
export function forgetTrains(trains: Trains, now: number): Trains {
  const recent = [...trains].map(([peer, row]) => [peer, row.filter(({ at }) => now - at < WINDOW_MS)] as const);
  return new Map(recent.filter(([, row]) => row.length > 0));
}

function isTrain({ where, size }: PairId): boolean {
  return where === "udp" && size >= SMALL_DATAGRAM && size < SMALL_DATAGRAM + TRAIN;
}

export function trainsSince(trains: Trains, peer: number, since: number): PathLoss {
  return sum((trains.get(peer) ?? []).filter(({ at }) => at >= since));
}

/** Trains without any answer are left out: they say nothing of loss. */
export function answeredTrainsSince(trains: Trains, peer: number, since: number): MeasuredPath {
  const answered = (trains.get(peer) ?? []).filter(({ at, lost, sent }) => at >= since && lost < sent);
  return { ...sum(answered), from: answered[0]?.answeredFrom };
}

/** The loss of a path, and when it began; undefined where it may be chance. A train without any answer is no loss: other probes tell why. */
export function lossOf(trains: Trains, peer: number): (PathLoss & { readonly since: number }) | undefined {
  const answered = (trains.get(peer) ?? []).filter(({ lost, sent }) => lost < sent);
  const { lost, sent } = sum(answered);
  const lossy = answered.filter((train) => train.lost > 0);
  const [first] = lossy;
  // An agent that restarts during a train loses a part of that one.
  if (!first || lossy.length < 2 || sent < ENOUGH || lost < LOSSES || lost * 20 < sent) return undefined;
  return { lost, sent, since: first.at };
}

export function percentOf({ lost, sent }: PathLoss): number {
  return Math.round((100 * lost) / sent);
}

/** By peer, for paths that lose packets. A value stays until it is far from what is measured: each change is a write. */
export function lossPercents(trains: Trains, before: ReadonlyMap<number, number>): Map<number, number> {
  const percents = new Map<number, number>();
  for (const peer of trains.keys()) {
    const loss = lossOf(trains, peer);
    if (!loss) continue;
    const percent = percentOf(loss);
    const known = before.get(peer);
    percents.set(peer, known !== undefined && Math.abs(percent - known) <= Math.max(10, known / 2) ? known : percent);
  }
  return percents;
}

/** Since when trains have lost something. */
export function doubtSince(trains: Trains, peer: number): number | undefined {
  const loss = lossOf(trains, peer);
  if (loss) return loss.since;
  const row = trains.get(peer) ?? [];
  if ((row.at(-1)?.lost ?? 0) === 0) return undefined;
  const clean = row.findLastIndex(({ lost }) => lost === 0);
  return row[clean + 1]?.at;
}

function sum(trains: readonly Train[]): PathLoss {
  return { lost: trains.reduce((all, { lost }) => all + lost, 0), sent: trains.reduce((all, { sent }) => all + sent, 0) };
}

export function requiredSize({ vnis }: { readonly vnis: readonly { readonly mtu: number }[] }): number {
  return Math.max(SMALL_DATAGRAM, ...vnis.map(({ mtu }) => mtu + ENCAPSULATION));
}

export function vtepPairs(peer: number, required: number): { peer: number; where: "udp"; size: number }[] {
  return [SMALL_DATAGRAM, required].map((size) => ({ peer, where: "udp", size }));
}
