import type { LogEntry, OutageEntry, PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Condition } from "../../api/kind.ts";
import { seconds } from "../../util/duration.ts";
import type { ActionOutcome } from "./attempt.ts";
import {
  emptyHistory,
  CAPS,
  type LogLine,
  type CheckHistory,
  isLookup,
  isReached,
  isSuccess,
  type Outage,
  type ReachableState,
  wholeSecond,
} from "./history.ts";
import { openOutage, MAX_CLOCK_AHEAD_MS, markUnknown, lastResultTime, historyState, transitionBetween } from "./reduce.ts";
import type { CheckStatus } from "./status.ts";
import { reachableOf } from "./activity.ts";

/** Names of other checkers. */
const ALIASES: Readonly<Record<string, ActionOutcome>> = {
  DNSResolve: "DNSDone",
  TCPConnect: "ConnectDone",
  TCPConnectSuccess: "ConnectDone",
  TCPConnectError: "ConnectError",
};
const OUTCOMES: Readonly<Record<ActionOutcome, true>> = {
  DNSDone: true,
  DNSError: true,
  ConnectDone: true,
  ConnectError: true,
  HTTPDone: true,
  HTTPError: true,
  TLSError: true,
  UnexpectedStatus: true,
  BodyMismatch: true,
};

/** Reconstructs the history from a status, for a source without a journal. */
export function fromStatus(status: CheckStatus | undefined, now: number): CheckHistory {
  if (!status) return emptyHistory(now);
  const successes = entriesOf(status.successes, CAPS.log);
  const failures = entriesOf(status.failures, CAPS.log);
  const outages = outagesOf(status.outages ?? []);
  const known = { successes, failures, outages };
  // A time in the future came from a wrong clock; the next one is newer.
  const times = [successes[0]?.at, failures[0]?.at, openOutage(outages)?.start].filter((at) => at !== undefined);
  const newestTime = Math.max(...times.filter((at) => at <= now + MAX_CLOCK_AHEAD_MS));
  const clock = Number.isFinite(newestTime) ? { clock: newestTime, newestTime } : {};
  const target = targetOf(known);
  return {
    past: {
      seq: 0,
      ...(target !== undefined && { target }),
      ...clock,
      ...known,
      verdict: verdictOf(status, known) ?? emptyHistory(now).past.verdict,
    },
    recent: [],
  };
}

interface Known {
  readonly successes: readonly LogLine[];
  readonly failures: readonly LogLine[];
  readonly outages: readonly Outage[];
}

const TARGET_OF =
  /^(?:(?:Connected|Connection|Failed connect|Failed request) to|Failed TLS with|HTTP \d+ from|Unexpected answer of) (\S+?(?: from router(?: VRF [^\s;]+)?)?)(?:;? |$)/;

/** The last target in our format; a failed lookup has no port. */
function targetOf({ successes, failures }: Known): string | undefined {
  const entries = [...failures, ...successes];
  const probes = entries.filter((entry) => !isLookup(entry)).toSorted((one, other) => other.at - one.at);
  const target = TARGET_OF.exec(probes[0]?.message ?? "")?.[1];
  const [failure] = failures;
  const lost = failure?.outcome === "DNSError" ? /^Failed to resolve (\S+);/.exec(failure.message)?.[1] : undefined;
  return lost === undefined || target?.replace(/^https?:\/\//, "").startsWith(`${lost}:`) ? target : undefined;
}

function verdictOf({ conditions }: CheckStatus, { successes, failures, outages }: Known): ReachableState | undefined {
  const open = openOutage(outages);
  const success = successes.find(isReached);
  const existing = conditions?.find(({ type }) => type === "Reachable");
  const since = timeOf(existing?.lastTransitionTime);
  const fits = { True: !open, False: open, Unknown: true };
  if (existing && since !== undefined && fits[existing.status]) {
    const { status, reason, message } = existing;
    return { status, since, reason: ALIASES[reason] ?? reason, message, ...(isPartial(existing) && { isPartial: true }) };
  }
  if (open) {
    const { outcome, message } = failures[0] ?? open.endLogs[0] ?? { outcome: "ConnectError", message: open.message };
    return { status: "False", since: open.start, reason: outcome, message };
  }
  if (!success) return undefined;
  const restored = outages[0]?.end ?? successes.findLast(isReached)?.at ?? success.at;
  return { status: "True", since: restored, reason: success.outcome, message: success.message };
}

/** Whether only some of the addresses answer. */
export function isPartial({ status, message }: Condition): boolean {
  return status === "True" && /^\d+ of \d+ addresses failed/.test(message);
}

/** The last report of a stale check's source, if known. */
export function lastReportOf({ message }: Condition): string | undefined {
  return /^Source .* has not reported since (\S+?);/.exec(message)?.[1];
}

function outagesOf(listed: readonly OutageEntry[]): Outage[] {
  const outages = listed.flatMap((entry) => outageOf(entry) ?? []).slice(0, CAPS.outages);
  return outages.map(overUnlessNewest);
}

function overUnlessNewest(outage: Outage, index: number): Outage {
  const { start, end, endedAfter = start } = outage;
  return index === 0 || end !== undefined ? outage : { ...outage, end: Math.max(start, endedAfter) };
}

function outageOf(entry: OutageEntry): Outage | undefined {
  const start = timeOf(entry.start);
  if (start === undefined) return undefined;
  const [end, startedAfter, endedAfter] = [timeOf(entry.end), timeOf(entry.startedAfter), timeOf(entry.endedAfter)];
  return {
    start,
    ...(end !== undefined && { end: Math.max(start, end) }),
    ...(startedAfter !== undefined && { startedAfter }),
    ...(endedAfter !== undefined && { endedAfter }),
    startLogs: entriesOf(entry.startLogs, CAPS.outageLogs),
    endLogs: entriesOf(entry.endLogs, CAPS.outageLogs),
    message: entry.message ?? "",
  };
}

function entriesOf(log: readonly LogEntry[] | undefined, cap: number): LogLine[] {
  return (log ?? []).flatMap((entry) => entryOf(entry) ?? []).slice(0, cap);
}

/** Undefined for a line without a time. */
function entryOf(entry: LogEntry & { duration?: string }): LogLine | undefined {
  const at = timeOf(entry.time);
  if (at === undefined) return undefined;
  const latency = seconds(entry.latency ?? entry.duration);
  const latencyMs = latency === undefined ? {} : { latencyMs: latency * 1000 };
  return { outcome: outcomeOf(entry), at, message: entry.message ?? "", ...latencyMs };
}

function outcomeOf({ reason = "", success }: LogEntry): ActionOutcome {
  const outcome = ALIASES[reason] ?? (Object.hasOwn(OUTCOMES, reason) ? (reason as ActionOutcome) : "ConnectDone");
  if (isSuccess({ outcome }) === success) return outcome;
  if (success) return isLookup({ outcome }) ? "DNSDone" : "ConnectDone";
  return isLookup({ outcome }) ? "DNSError" : "ConnectError";
}

function timeOf(text: string | null | undefined): number | undefined {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? undefined : wholeSecond(at);
}

export interface RestoredHistory {
  readonly history: CheckHistory;
  /** Everything is in the API. */
  readonly isPublished: boolean;
  /** There is an unreported transition. */
  readonly isNews: boolean;
}

/** The latest of the journal and the API wins. */
export function restoreHistory(remembered: CheckHistory | undefined, check: PodNetworkConnectivityCheck, now: number): RestoredHistory {
  const published = fromStatus(check.status, now);
  if (!remembered || (lastResultTime(remembered) ?? 0) < (lastResultTime(published) ?? 0))
    return { history: published, isPublished: true, isNews: false };
  const { reason, message, since } = historyState(published).verdict;
  // The controller marked it Unknown meanwhile: the next result is a transition.
  const history = reachableOf(check)?.status === "Unknown" ? markUnknown(remembered, { reason, message, at: since }) : remembered;
  return { history, isPublished: false, isNews: transitionBetween(published, remembered) !== undefined };
}
