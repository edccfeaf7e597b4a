import { type Attempt, INTERVAL_MS } from "./attempt.ts";
import { type CheckHistory, type HistoryState, type ReachableState, wholeSecond, CAPS, type LogLine, isSuccess } from "./history.ts";
import { updateOutages } from "./outages.ts";
import { displayTimes } from "./display-times.ts";

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

function appendAttempt(past: HistoryState, attempt: Attempt): HistoryState {
  const { seq, target, reachable, at: clock, everyMs = INTERVAL_MS } = attempt;
  const { start, entries, newest } = displayTimes(attempt, past);
  const decisive = entries.find((entry) => (reachable ? entry.outcome === "ConnectDone" : !isSuccess(entry)));
  const moment = decisive?.at ?? start;
  const newTarget = past.target !== undefined && past.target !== target ? target : undefined;
  const success = newTarget === undefined ? past.successes.find(({ outcome }) => outcome === "ConnectDone")?.at : undefined;
  // A later success came from a wrong clock.
  const lastSuccess = success !== undefined && success <= moment ? success : undefined;
  return {
    seq,
    target,
    clock,
    newestTime: newest,
    successes: logWith(past.successes, entries.filter(isSuccess)),
    failures: logWith(
      past.failures,
      entries.filter((entry) => !isSuccess(entry)),
    ),
    outages: updateOutages(past.outages, { reachable, start, moment, everyMs, entries, lastSuccess, newTarget }),
    verdict: verdictAfter(past.verdict, attempt, moment),
  };
}

function logWith(log: readonly LogLine[], entries: readonly LogLine[]): readonly LogLine[] {
  if (entries.length === 0) return log;
  return [...entries.map((entry) => sharingText(entry, log)).toReversed(), ...log].slice(0, CAPS.log);
}

/** Lines repeat for days: equal texts share memory. */
function sharingText(entry: LogLine, log: readonly LogLine[]): LogLine {
  const same = log.find(({ message }) => message === entry.message);
  return same ? { ...entry, message: same.message } : entry;
}

function verdictAfter(before: ReachableState, { reachable, actions }: Attempt, moment: number): ReachableState {
  const status = reachable ? "True" : "False";
  const since = before.status === status ? before.since : moment;
  if (!reachable) {
    const { outcome, message } = actions.findLast((action) => !isSuccess(action)) ?? { outcome: "ConnectError", message: "" };
    return { status, since, reason: outcome, message };
  }
  const connects = actions.filter(({ outcome }) => outcome === "ConnectDone" || outcome === "ConnectError");
  const failed = connects.filter((action) => !isSuccess(action)).map(({ message }) => message);
  if (failed.length === 0) return { status, since, reason: "ConnectDone", message: connects.at(-1)?.message ?? "" };
  const message = `${failed.length} of ${connects.length} addresses failed: ${failed.join(", ")}`;
  return { status, since, reason: "ConnectDone", message, isPartial: true };
}
