/** What one probe found. `where` is the VNI it was sent in, or how it was sent from VTEP to VTEP. */
export interface ProbeResult {
  readonly peer: number;
  readonly where: number | "udp" | "ping";
  readonly size: number;
  /** By the monotonic clock. */
  readonly at: number;
  readonly answered: boolean;
}

/** One more loss may be chance; three in a row are not. */
export const LOSSES = 3;
export const INTERVAL_MS = 10_000;
/** An observation that is older says nothing any more. */
export const STALE_MS = 3 * INTERVAL_MS;

interface Series {
  readonly at: number;
  readonly answeredAt: number | undefined;
  /** Losses in a row, and when the first of them was sent. */
  readonly losses: number;
  readonly since: number;
}

/** What is known of all pairs of this node and a peer. Keys are `PEER WHERE SIZE`. */
export type PairStates = ReadonlyMap<string, Series>;

export type Verdict =
  | { readonly state: "ok" }
  /** Probed, but the answers do not decide yet; or not probed lately. */
  | { readonly state: "unknown"; readonly since: number }
  /** `answersElsewhere`: the peer answers other probes, so that it is this VNI; `noPath`: its kernel does not answer either. */
  | { readonly state: "failing"; readonly since: number; readonly why: "answersElsewhere" | "noPath" | "noAnswer" };

export function keyOf({ peer, where, size }: Pick<ProbeResult, "peer" | "where" | "size">): string {
  return `${peer} ${where} ${size}`;
}

/** Results of one pair in the order in which they were sent. */
export function observe(states: PairStates, results: readonly ProbeResult[]): PairStates {
  const next = new Map(states);
  for (const result of results) {
    const { at, answered } = result;
    const before = next.get(keyOf(result));
    const { losses, since } = before && before.losses > 0 ? before : { losses: 0, since: at };
    next.set(
      keyOf(result),
      answered ? { at, answeredAt: at, losses: 0, since: at } : { at, answeredAt: before?.answeredAt, losses: losses + 1, since },
    );
  }
  return next;
}

/** Pairs that lost their last probe are probed every second until they answer, or have lost enough to be judged. */
export function isSuspect(states: PairStates, pair: Pick<ProbeResult, "peer" | "where" | "size">): boolean {
  return (states.get(keyOf(pair))?.losses ?? 0) > 0;
}

export interface JudgeOptions {
  readonly now: number;
  /** Whether the peer's agent is alive, by its Lease. */
  readonly isLive: (peer: number) => boolean;
}

/**
 * Whether a pair works. An agent that restarts answers nothing, and that is no fault: a pair fails if the peer answers another probe that was sent later, if
 * even the peer's kernel does not answer, or if nothing is answered for three intervals although the peer's agent is alive.
 */
export function judge(states: PairStates, pair: Pick<ProbeResult, "peer" | "where" | "size">, { now, isLive }: JudgeOptions): Verdict {
  const series = states.get(keyOf(pair));
  if (!series) return { state: "unknown", since: now };
  if (now - series.at > STALE_MS) return { state: "unknown", since: series.at };
  if (series.losses < LOSSES)
    return series.answeredAt === undefined && series.losses > 0 ? { state: "unknown", since: series.since } : { state: "ok" };
  const { since } = series;
  const others = seriesOf(states, pair.peer).filter(([key]) => key !== keyOf(pair));
  const answersElsewhere = others.some(
    ([key, { answeredAt }]) => !key.includes(" ping ") && answeredAt !== undefined && answeredAt >= since,
  );
  if (answersElsewhere) return { state: "failing", since, why: "answersElsewhere" };
  const ping = others.find(([key]) => key.includes(" ping "))?.[1];
  if (ping && ping.losses >= LOSSES) return { state: "failing", since, why: "noPath" };
  if (now - since > STALE_MS && isLive(pair.peer)) return { state: "failing", since, why: "noAnswer" };
  return { state: "unknown", since };
}

function seriesOf(states: PairStates, peer: number): [string, Series][] {
  return [...states].filter(([key]) => key.startsWith(`${peer} `));
}

/** Pairs that are no longer probed say nothing, and would be kept for ever. */
export function retain(states: PairStates, keys: ReadonlySet<string>): PairStates {
  return new Map([...states].filter(([key]) => keys.has(key)));
}
