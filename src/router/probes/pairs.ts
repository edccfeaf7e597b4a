/** What one probe found. `where` is the VNI it was sent in, or how it was sent from VTEP to VTEP. */
export interface ProbeResult {
  readonly peer: number;
  readonly where: number | "udp" | "ping";
  readonly size: number;
  /** By the monotonic clock. */
  readonly at: number;
  readonly answered: boolean;
  /** With the answer the peer said that its FRR lacks the EVPN routes of this node: frames of tenants do not find the way that its answer took. */
  readonly lacksRoute?: true;
  /** With the answer the peer said that it announces prefixes in this L3VNI, with route targets of this fingerprint. */
  readonly exports?: number;
}

/** One more loss may be chance; three in a row are not. */
export const LOSSES = 3;
export const INTERVAL_MS = 10_000;
/** An observation that is older says nothing any more. */
export const STALE_MS = 3 * INTERVAL_MS;

/** An agent that restarts is alive a while before it answers; longer than an agent may be silent. */
export const UNANSWERED_MS = 2 * STALE_MS;
/** So many datagrams say something of a path. */
export const ENOUGH = 20;
/** How unlikely a row of losses must be on a path that loses packets anyway: there are hundreds of pairs, and a row may begin each second. */
const CHANCE = 1e-6;

/** How many losses in a row are no chance where no train is answered: half of the packets may be lost there. */
const UNMEASURED_LOSSES = 20;
/** More than are needed on any path. */
const MOST_LOSSES = 200;

/** Of datagrams from VTEP to VTEP. */
export interface PathLoss {
  readonly lost: number;
  readonly sent: number;
}

/** Of the trains that had an answer, and since when each had one. */
export interface MeasuredPath extends PathLoss {
  readonly from: number | undefined;
}

interface Series {
  readonly at: number;
  readonly answeredAt: number | undefined;
  /** When the first of the answers in a row was sent. */
  readonly answeredFrom: number | undefined;
  /** Losses in a row, and when the first of them was sent. */
  readonly losses: number;
  readonly since: number;
  /** When they were sent: the last of them. */
  readonly lostAt: readonly number[];
  /** Since when the peer's answers say that it lacks our EVPN routes. */
  readonly lacksRouteSince: number | undefined;
  /** With the last answer. */
  readonly exports: number | undefined;
}

/** What is known of all pairs of this node and a peer. Keys are `PEER WHERE SIZE`. */
export type PairStates = ReadonlyMap<string, Series>;

export type PairId = Pick<ProbeResult, "peer" | "where" | "size">;

export type Verdict =
  | { readonly state: "ok" }
  /** New: not answered yet, and not for long enough to be unknown. */
  | { readonly state: "pending" }
  /** Probed, but the answers do not decide yet; or not probed lately. */
  | { readonly state: "unknown"; readonly since: number }
  /** `answersElsewhere`: the peer answers other probes, so that it is this VNI; `noPath`: its kernel does not answer either; `lacksRoute`: it answers, and has no EVPN route to us. */
  | { readonly state: "failing"; readonly since: number; readonly why: "answersElsewhere" | "noPath" | "noAnswer" | "lacksRoute" };

export function keyOf({ peer, where, size }: PairId): string {
  return `${peer} ${where} ${size}`;
}

/** Results of one pair in the order in which they were sent. */
export function observe(states: PairStates, results: readonly ProbeResult[]): PairStates {
  const next = new Map(states);
  for (const result of results) {
    const { at, answered, lacksRoute, exports } = result;
    const before = next.get(keyOf(result));
    const { losses, since, lostAt } = before && before.losses > 0 ? before : { losses: 0, since: at, lostAt: [] };
    const { lacksRouteSince, answeredAt } = before ?? {};
    const answeredFrom = losses === 0 ? (before?.answeredFrom ?? at) : at;
    next.set(
      keyOf(result),
      answered
        ? {
            at,
            answeredAt: at,
            answeredFrom,
            losses: 0,
            since: at,
            lostAt: [],
            lacksRouteSince: lacksRoute && (lacksRouteSince ?? at),
            exports,
          }
        : {
            at,
            answeredAt,
            answeredFrom: undefined,
            losses: losses + 1,
            since,
            lostAt: [...lostAt.slice(1 - MOST_LOSSES), at],
            lacksRouteSince,
            exports: before?.exports,
          },
    );
  }
  return next;
}

/** Pairs that lost their last probe, or whose peer lacks our routes, are probed every second until that is over. */
export function suspectSince(states: PairStates, pair: PairId): number | undefined {
  const series = states.get(keyOf(pair));
  return series && series.losses > 0 ? series.since : series?.lacksRouteSince;
}

/** With which route targets the peer announces prefixes in the L3VNI of the pair, if it says so now. */
export function exportsOf(states: PairStates, pair: PairId, now: number): number | undefined {
  const series = states.get(keyOf(pair));
  return series && series.losses < LOSSES && now - series.at <= STALE_MS ? series.exports : undefined;
}

/** Whether the pair was probed since then, and either answered or lost enough to be judged. */
export function isDecided(states: PairStates, pair: PairId, since: number): boolean {
  const series = states.get(keyOf(pair));
  return series !== undefined && ((series.answeredAt ?? -Infinity) >= since || series.losses >= LOSSES);
}

export interface JudgeOptions {
  readonly now: number;
  /** Since when a pair that has no result yet is to be probed. */
  readonly wantedSince: (pair: PairId) => number;
  /** Since when the peer's agent is alive, by its Lease. */
  readonly liveSince: (peer: number) => number | undefined;
  /** The trains of datagrams to the peer since then. */
  readonly path: (peer: number, since: number) => MeasuredPath;
}

/**
 * Whether a pair works. An agent that restarts answers nothing, and that is no fault: a pair fails if it loses probes while the peer answers others, if
 * even the peer's kernel does not answer, or if nothing is answered for a minute although the peer's agent is alive all the time. On a path that loses packets more
 * have to be lost in a row: the loss is the fault, and not the VNI.
 */
export function judge(states: PairStates, pair: PairId, { now, wantedSince, liveSince, path }: JudgeOptions): Verdict {
  const series = states.get(keyOf(pair));
  if (!series) {
    const since = wantedSince(pair);
    return now - since > STALE_MS ? { state: "unknown", since } : { state: "pending" };
  }
  if (now - series.at > STALE_MS) return { state: "unknown", since: series.at };
  const { since, losses, lostAt } = series;
  const notYet = withoutLosses(series, now);
  if (losses < LOSSES) return lackingVerdict(series, now) ?? notYet;
  const others = seriesOf(states, pair.peer).filter(([key]) => key !== keyOf(pair));
  const trains = path(pair.peer, since);
  const answering = others.filter(([key, { answeredAt }]) => !key.includes(" ping ") && answeredAt !== undefined && answeredAt >= since);
  if (trains.from !== undefined || answering.length > 0) {
    // Before it answered anything it may have restarted.
    const from = trains.from ?? Math.min(...answering.map(([, { answeredFrom }]) => answeredFrom ?? Infinity));
    const enough = trains.from === undefined ? unmeasuredLosses(pair) : lossesBeyondChance(trains);
    // A peer that has just learned of the VNI answers in others only: a new pair stays pending.
    const isFailing = notYet.state !== "pending" && lostAt.filter((at) => at >= from).length >= enough;
    return isFailing ? { state: "failing", since, why: "answersElsewhere" } : notYet;
  }
  const ping = others.find(([key]) => key.includes(" ping "))?.[1];
  if (ping && ping.losses >= LOSSES) return { state: "failing", since, why: "noPath" };
  const live = liveSince(pair.peer);
  if (live !== undefined && now - Math.max(since, live) > UNANSWERED_MS) return { state: "failing", since, why: "noAnswer" };
  return notYet.state === "ok" && series.lacksRouteSince !== undefined ? { state: "unknown", since } : notYet;
}

/** The last answer counts for three intervals, and so long a new pair may take for its first. */
function withoutLosses({ answeredAt, since }: Series, now: number): Verdict {
  if (now - (answeredAt ?? since) > STALE_MS) return { state: "unknown", since };
  return answeredAt === undefined ? { state: "pending" } : { state: "ok" };
}

/** Not at once: all who lack our routes have to say so first, or else the one who was first would look like the one at fault. */
function lackingVerdict({ lacksRouteSince: since }: Series, now: number): Verdict | undefined {
  return since !== undefined && now - since >= INTERVAL_MS ? { state: "failing", since, why: "lacksRoute" } : undefined;
}

/** Where no datagram passes the port is filtered, or its owner has no socket: frames of tenants take another port. */
function unmeasuredLosses({ where }: PairId): number {
  return where === "udp" ? Infinity : UNMEASURED_LOSSES;
}

/** How many probes must be lost in a row on this path until it cannot be chance. */
function lossesBeyondChance({ lost, sent }: PathLoss): number {
  if (sent < ENOUGH) return Infinity;
  if (lost === 0) return LOSSES;
  return Math.max(LOSSES, Math.ceil(Math.log(CHANCE) / Math.log((lost + 1) / (sent + 2))));
}

function seriesOf(states: PairStates, peer: number): [string, Series][] {
  return [...states].filter(([key]) => key.startsWith(`${peer} `));
}

/** Pairs that are no longer probed say nothing, and would be kept for ever. Lost datagrams and pings still help to judge the other pairs of their peer. */
export function retain(states: PairStates, keys: ReadonlySet<string>, now: number): PairStates {
  return new Map(
    [...states].filter(([key, series]) => keys.has(key) || (isOfVtep(key) && series.losses > 0 && now - series.at <= STALE_MS)),
  );
}

/** Of peers whose turn begins: what their datagrams lost on another occasion is no fault now. */
export function forgetLosses(states: PairStates, peers: readonly number[], now: number): PairStates {
  const isOfThem = new Set(peers.map(String));
  const isOld = ([key, { losses, at }]: readonly [string, Series]) =>
    losses > 0 && now - at > INTERVAL_MS && isOfVtep(key) && isOfThem.has(key.slice(0, key.indexOf(" ")));
  return new Map([...states].filter((entry) => !isOld(entry)));
}

function isOfVtep(key: string): boolean {
  return / (?:ping|udp) /.test(key);
}
