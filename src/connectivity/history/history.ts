import type { ConditionStatus } from "../../api/kind.ts";
import type { Attempt, ActionOutcome } from "./attempt.ts";

/** A line of a log. Times here are whole seconds, in milliseconds, and are what people are shown. */
export interface LogLine {
  readonly outcome: ActionOutcome;
  readonly at: number;
  /** Unknown only where somebody else wrote the line. */
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

/** What the condition Reachable says. */
export interface ReachableState {
  readonly status: ConditionStatus;
  readonly since: number;
  readonly reason: string;
  readonly message: string;
  /** Only some of the addresses answer. */
  readonly isPartial?: true;
}

/** What is left of the attempts up to `seq`. */
export interface HistoryState {
  readonly seq: number;
  readonly target?: string;
  /** What the clock said at the last attempt. */
  readonly clock?: number;
  /** The newest time that is shown. */
  readonly newestTime?: number;
  readonly successes: readonly LogLine[];
  readonly failures: readonly LogLine[];
  readonly outages: readonly Outage[];
  readonly verdict: ReachableState;
}

/** Everything that a source knows about one check. It is plain JSON. */
export interface CheckHistory {
  readonly past: HistoryState;
  /** The newest attempts as they came, by `seq`: one that ends late finds its place among them. */
  readonly recent: readonly Attempt[];
}

export const CAPS = { log: 20, outages: 20, outageLogs: 5, message: 512 };

/** A check that nobody has tried yet. */
export function emptyHistory(now: number): CheckHistory {
  const verdict: ReachableState = { status: "Unknown", since: wholeSecond(now), reason: "NoResultYet", message: "No result yet" };
  return { past: { seq: 0, successes: [], failures: [], outages: [], verdict }, recent: [] };
}

export function wholeSecond(at: number): number {
  return Math.floor(at / 1000) * 1000;
}

/** The number of the next attempt. */
export function nextSeq({ past, recent }: CheckHistory): number {
  return (recent.at(-1)?.seq ?? past.seq) + 1;
}

export function isSuccess({ outcome }: Pick<LogLine, "outcome">): boolean {
  return outcome === "DNSDone" || outcome === "ConnectDone";
}
