import { type Attempt, INTERVAL_MS } from "../attempt.ts";
import { CAPS, type Entry, isSuccess, type Past, type Verdict } from "./history.ts";
import { outagesAfter } from "./outages.ts";
import { shownTimes } from "./display-times.ts";

/** The past with the attempt that comes after it. */
export function fold(past: Past, attempt: Attempt): Past {
  const { seq, target, reachable, at: clock, everyMs = INTERVAL_MS } = attempt;
  const { start, entries, newest } = shownTimes(attempt, past);
  const decisive = entries.find((entry) => (reachable ? entry.outcome === "ConnectDone" : !isSuccess(entry)));
  const moment = decisive?.at ?? start;
  const newTarget = past.target !== undefined && past.target !== target ? target : undefined;
  const success = newTarget === undefined ? past.successes.find(({ outcome }) => outcome === "ConnectDone")?.at : undefined;
  // One that seems to come later was seen by a clock that was wrong.
  const lastSuccess = success !== undefined && success <= moment ? success : undefined;
  return {
    seq,
    target,
    clock,
    shown: newest,
    successes: logWith(past.successes, entries.filter(isSuccess)),
    failures: logWith(
      past.failures,
      entries.filter((entry) => !isSuccess(entry)),
    ),
    outages: outagesAfter(past.outages, { reachable, start, moment, everyMs, entries, lastSuccess, newTarget }),
    verdict: verdictAfter(past.verdict, attempt, moment),
  };
}

function logWith(log: readonly Entry[], entries: readonly Entry[]): readonly Entry[] {
  if (entries.length === 0) return log;
  return [...entries.map((entry) => sharingText(entry, log)).toReversed(), ...log].slice(0, CAPS.log);
}

/** A check says the same for days: one text in memory is enough for all of its lines. */
function sharingText(entry: Entry, log: readonly Entry[]): Entry {
  const same = log.find(({ message }) => message === entry.message);
  return same ? { ...entry, message: same.message } : entry;
}

function verdictAfter(before: Verdict, { reachable, actions }: Attempt, moment: number): Verdict {
  const status = reachable ? "True" : "False";
  const since = before.status === status ? before.since : moment;
  if (!reachable) {
    const { outcome, message } = actions.findLast((action) => !isSuccess(action)) ?? { outcome: "ConnectError", message: "" };
    return { status, since, reason: outcome, message };
  }
  const connects = actions.filter(({ outcome }) => outcome === "ConnectDone" || outcome === "ConnectError");
  const failed = connects.filter((action) => !isSuccess(action)).map(({ message }) => message);
  const message =
    failed.length === 0
      ? (connects.at(-1)?.message ?? "")
      : `${failed.length} of ${connects.length} addresses failed: ${failed.join(", ")}`;
  return { status, since, reason: "ConnectDone", message };
}
