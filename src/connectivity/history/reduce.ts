import type { Attempt } from "./attempt.ts";
import { appendAttempt } from "./fold.ts";
import { type CheckHistory, type HistoryState, type ReachableState, wholeSecond } from "./history.ts";

/** So many attempts may end before one that began earlier. */
const RECENT = 8;

/**
 * The history with one more attempt. In whatever order attempts end, those that began last decide. An attempt that says nothing gives the
 * same history back: the source itself was at fault, it is known already, or so many later ones have ended that it comes too late.
 */
export function reduce(history: CheckHistory, attempt: Attempt): CheckHistory {
  const { past, recent } = history;
  if (attempt.fault !== undefined || attempt.seq <= past.seq) return history;
  const before = recent.findLastIndex(({ seq }) => seq <= attempt.seq);
  if (recent[before]?.seq === attempt.seq) return history;
  const attempts = recent.toSpliced(before + 1, 0, attempt);
  const [oldest] = attempts;
  return oldest && attempts.length > RECENT ? { past: appendAttempt(past, oldest), recent: attempts.slice(1) } : { past, recent: attempts };
}

/** All that is known, in order. */
export function historyState({ past, recent }: CheckHistory): HistoryState {
  return recent.reduce(appendAttempt, past);
}

/** When a result was last seen; undefined when none ever was, or only one of a clock that was wrong. */
export function lastResultTime(history: CheckHistory): number | undefined {
  return historyState(history).newestTime;
}

/** From now on nobody tries. The log stays, and so does an outage that is open. */
export function markUnknown(
  history: CheckHistory,
  { reason, message, at }: Pick<ReachableState, "reason" | "message"> & { at: number },
): CheckHistory {
  const past = historyState(history);
  const { verdict } = past;
  if (verdict.status === "Unknown" && verdict.reason === reason && verdict.message === message) return history;
  const since = verdict.status === "Unknown" ? verdict.since : wholeSecond(at);
  return { past: { ...past, verdict: { status: "Unknown", since, reason, message } }, recent: [] };
}
