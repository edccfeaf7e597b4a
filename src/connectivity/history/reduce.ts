import type { Attempt } from "./attempt.ts";
import { appendAttempt } from "./fold.ts";
import { type CheckHistory, type HistoryState, type ReachableState, wholeSecond } from "./history.ts";

/** How many attempts may end before one that began earlier. */
const RECENT = 8;

/**
 * Adds an attempt. The order of their starts decides, not that of their ends. Returns the same history for an attempt without information:
 * a local fault, a known one, or one that is too late.
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

export function historyState({ past, recent }: CheckHistory): HistoryState {
  return recent.reduce(appendAttempt, past);
}

/** Undefined if there is none, or only one of a wrong clock. */
export function lastResultTime(history: CheckHistory): number | undefined {
  return historyState(history).newestTime;
}

/** The check is no longer probed. Its log and an open outage stay. */
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
