import type { ConditionStatus } from "../../api/kind.ts";
import type { Probe } from "../../api/connectivity/probe.ts";
import type { Attempt, ActionOutcome } from "./attempt.ts";

/** Times are whole seconds, in milliseconds, as displayed. */
export interface LogLine {
  readonly outcome: ActionOutcome;
  readonly at: number;
  /** Unset for lines of other checkers. */
  readonly latencyMs?: number;
  readonly message: string;
}

/** All lists are newest first. */
export interface Outage {
  readonly start: number;
  readonly end?: number;
  readonly startedAfter?: number;
  readonly endedAfter?: number;
  readonly startLogs: readonly LogLine[];
  readonly endLogs: readonly LogLine[];
  readonly message: string;
}

/** The condition Reachable. */
export interface ReachableState {
  readonly status: ConditionStatus;
  readonly since: number;
  readonly reason: string;
  readonly message: string;
  readonly isPartial?: true;
}

export interface HistoryState {
  readonly seq: number;
  readonly target?: string;
  /** The wall clock at the last attempt. */
  readonly clock?: number;
  readonly newestTime?: number;
  readonly successes: readonly LogLine[];
  readonly failures: readonly LogLine[];
  readonly outages: readonly Outage[];
  readonly verdict: ReachableState;
}

/** The state of one check; plain JSON. */
export interface CheckHistory {
  readonly past: HistoryState;
  /** The newest attempts by `seq`, so that one that ends late is inserted in order. */
  readonly recent: readonly Attempt[];
  /** What to probe, unless it is a TCP connection to the target: a source may start without the API. */
  readonly probed?: Probed;
}

/** A probe other than a TCP connection, and the endpoint. */
export interface Probed {
  readonly endpoint: string;
  readonly probe: Probe;
}

export const CAPS = { log: 20, outages: 20, outageLogs: 5, message: 512 };

/** A check that was never probed. */
export function emptyHistory(now: number): CheckHistory {
  const verdict: ReachableState = { status: "Unknown", since: wholeSecond(now), reason: "NoResultYet", message: "No result yet" };
  return { past: { seq: 0, successes: [], failures: [], outages: [], verdict }, recent: [] };
}

export function wholeSecond(at: number): number {
  return Math.floor(at / 1000) * 1000;
}

export function nextSeq({ past, recent }: CheckHistory): number {
  return (recent.at(-1)?.seq ?? past.seq) + 1;
}

export function isSuccess({ outcome }: Pick<LogLine, "outcome">): boolean {
  return outcome === "DNSDone" || isReached({ outcome });
}

/** The target answered as expected. */
export function isReached({ outcome }: Pick<LogLine, "outcome">): boolean {
  return outcome === "ConnectDone" || outcome === "HTTPDone";
}

export function isLookup({ outcome }: Pick<LogLine, "outcome">): boolean {
  return outcome === "DNSDone" || outcome === "DNSError";
}
