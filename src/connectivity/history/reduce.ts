import { type Attempt, INTERVAL_MS } from "./attempt.ts";
import {
  type CheckHistory,
  type HistoryState,
  type ReachableState,
  wholeSecond,
  CAPS,
  type LogLine,
  isLookup,
  isReached,
  isSuccess,
  type Outage,
} from "./history.ts";
import { truncateWithSuffix } from "../../util/text.ts";
import { metaTime } from "../../api/time.ts";
import { durationText } from "./duration.ts";

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
  const reduced =
    attempts.length > RECENT && oldest ? { past: appendAttempt(past, oldest), recent: attempts.slice(1) } : { recent: attempts };
  return { ...history, ...reduced };
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
  return { ...history, past: { ...past, verdict: { status: "Unknown", since, reason, message } }, recent: [] };
}

function appendAttempt(past: HistoryState, attempt: Attempt): HistoryState {
  const { seq, target, reachable, at: clock, everyMs = INTERVAL_MS } = attempt;
  const { start, entries, newest } = displayTimes(attempt, past);
  const decisive = entries.find((entry) => (reachable ? isReached(entry) : !isSuccess(entry)));
  const moment = decisive?.at ?? start;
  const newTarget = past.target !== undefined && past.target !== target ? target : undefined;
  const success = newTarget === undefined ? past.successes.find(isReached)?.at : undefined;
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
  const probes = actions.filter((action) => !isLookup(action));
  const reason = probes.find(isReached)?.outcome ?? "ConnectDone";
  const failed = probes.filter((action) => !isSuccess(action)).map(({ message }) => message);
  if (failed.length === 0) return { status, since, reason, message: probes.at(-1)?.message ?? "" };
  const message = `${failed.length} of ${probes.length} addresses failed: ${failed.join(", ")}`;
  return { status, since, reason, message, isPartial: true };
}

/** How far a time may be ahead of the clock and still be valid. */
export const MAX_CLOCK_AHEAD_MS = 120_000;
/** Smaller steps are normal clock adjustment. */
const STEP_MS = 2_000;
const STEPPED_BACK = " (the clock stepped back)";

interface DisplayTimes {
  readonly start: number;
  readonly entries: readonly LogLine[];
  readonly newest: number;
}

/** Times never go back, unless the earlier ones were wrong. */
function displayTimes({ at, actions }: Attempt, { clock, newestTime }: Pick<HistoryState, "clock" | "newestTime">): DisplayTimes {
  const note = clock !== undefined && clock - at > STEP_MS ? STEPPED_BACK : "";
  const start = notBefore(newestTime, at);
  let newest = start;
  const entries = actions.map(({ outcome, at, latencyMs, message }, index) => {
    newest = notBefore(newest, at);
    return { outcome, at: newest, latencyMs, message: truncateWithSuffix(message, CAPS.message, index === 0 ? note : "") };
  });
  return { start, entries, newest };
}

function notBefore(earlier: number | undefined, at: number): number {
  const own = wholeSecond(at);
  return earlier !== undefined && earlier > own && earlier - own <= MAX_CLOCK_AHEAD_MS ? earlier : own;
}

/** After so many intervals without an attempt the source was not running. */
const UNTRIED_INTERVALS = 3;
const UNTRIED = "; not tried from ";
const UNTRIED_CAP = 3;

interface AttemptSummary {
  readonly reachable: boolean;
  readonly start: number;
  readonly moment: number;
  readonly everyMs: number;
  readonly entries: readonly LogLine[];
  /** The last success of the same target before it. */
  readonly lastSuccess: number | undefined;
  /** Set for the first attempt after a change of the target. */
  readonly newTarget: string | undefined;
}

/** A failed attempt opens an outage, a successful one closes it. */
function updateOutages(outages: readonly Outage[], finding: AttemptSummary): readonly Outage[] {
  const open = openOutage(outages);
  if (!open) return finding.reachable ? outages : [opened(finding), ...outages].slice(0, CAPS.outages);
  const older = outages.slice(1);
  if (finding.newTarget !== undefined) {
    const left = ended(tried(open, finding), finding.start, [], `; the target was changed to ${finding.newTarget}`);
    return finding.reachable ? [left, ...older] : [opened(finding), left, ...older].slice(0, CAPS.outages);
  }
  const then = tried(open, finding);
  return [finding.reachable ? restored(then, finding) : ongoing(then, finding), ...older];
}

export function openOutage([newest]: readonly Outage[]): Outage | undefined {
  return newest && newest.end === undefined ? newest : undefined;
}

function opened(finding: AttemptSummary): Outage {
  const { moment, lastSuccess } = finding;
  const message = `Connectivity outage detected at ${metaTime(new Date(moment))}`;
  const nothing = { start: moment, startLogs: [], endLogs: [], message };
  return ongoing(lastSuccess === undefined ? nothing : { ...nothing, startedAfter: lastSuccess }, finding);
}

function ongoing(outage: Outage, { entries, moment }: AttemptSummary): Outage {
  const failures = entries.filter((entry) => !isSuccess(entry));
  const startLogs = [...outage.startLogs];
  const ways = new Set(startLogs.map(wayToFail));
  for (const failure of failures) {
    if (startLogs.length === CAPS.outageLogs) break;
    const way = wayToFail(failure);
    if (ways.has(way)) continue;
    ways.add(way);
    startLogs.unshift(failure);
  }
  const endLogs = [...failures.toReversed(), ...outage.endLogs].slice(0, CAPS.outageLogs);
  return { ...outage, endedAfter: failures.at(-1)?.at ?? moment, startLogs, endLogs };
}

function restored(outage: Outage, { entries, moment }: AttemptSummary): Outage {
  const success = entries.find(isReached);
  return ended(outage, moment, success ? [success] : [], "");
}

function ended(outage: Outage, at: number, last: readonly LogLine[], why: string): Outage {
  const end = Math.max(at, outage.start);
  const lasted = durationText(end - outage.start);
  const text = why === "" ? `Connectivity restored after ${lasted}` : `Connectivity outage ended after ${lasted}${why}`;
  const untried = outage.message.indexOf(UNTRIED);
  const message = truncateWithSuffix(text, CAPS.message, untried < 0 ? "" : outage.message.slice(untried));
  return { ...outage, end, endLogs: [...last, ...outage.endLogs].slice(0, CAPS.outageLogs), message };
}

function tried(outage: Outage, { start: at, everyMs }: AttemptSummary): Outage {
  const { start, endedAfter, endLogs, message } = outage;
  const last = endedAfter ?? endLogs[0]?.at ?? start;
  if (at - last <= UNTRIED_INTERVALS * everyMs || message.split(UNTRIED).length > UNTRIED_CAP) return outage;
  return { ...outage, message: `${message}${UNTRIED}${metaTime(new Date(last))} to ${metaTime(new Date(at))}` };
}

/** The error without the address: `ConnectError No route to host`. */
function wayToFail({ outcome, message }: LogLine): string {
  const reason = message.indexOf("; ");
  return `${outcome} ${message.slice(reason < 0 ? 0 : reason + 2).replaceAll(/ \([^)]*\)/g, "")}`;
}

type HistoryTransition = "opened" | "closed" | "first" | "changed";

export function transitionBetween(before: CheckHistory, after: CheckHistory): HistoryTransition | undefined {
  if (before === after) return undefined;
  const [then, now] = [historyState(before), historyState(after)];
  const [last, newest] = [then.outages[0], now.outages[0]];
  if (newest && newest.end === undefined && (last?.start !== newest.start || last.end !== undefined)) return "opened";
  if (newest?.end !== undefined && (last?.start !== newest.start || last.end !== newest.end)) return "closed";
  if (then.verdict.reason === "NoResultYet" && now.verdict.status !== "Unknown") return "first";
  const otherTarget = then.target !== undefined && then.target !== now.target;
  const otherVerdict = then.verdict.status !== now.verdict.status;
  const anotherWay = openOutage(now.outages)?.startLogs.length !== openOutage(then.outages)?.startLogs.length;
  const otherDoubt = now.verdict.status === "Unknown" && then.verdict.reason !== now.verdict.reason;
  return otherTarget || otherVerdict || anotherWay || otherDoubt ? "changed" : undefined;
}
