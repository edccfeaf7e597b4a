import { type Attempt, INTERVAL_MS } from "./attempt.ts";
import { CAPS, type LogLine, isSuccess, type HistoryState, type ReachableState } from "./history.ts";
import { updateOutages } from "./outages.ts";
import { displayTimes } from "./display-times.ts";

export function appendAttempt(past: HistoryState, attempt: Attempt): HistoryState {
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
