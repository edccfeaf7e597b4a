import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { fromStatus } from "../history/from-status.ts";
import type { Outage } from "../history/history.ts";
import { historyState } from "../history/reduce.ts";
import { isRetired } from "../mesh/steps.ts";
import { failureText } from "./labels.ts";
import { type Zones, type CheckResult, resultOf } from "./check-result.ts";
import { lastResultOf } from "../history/activity.ts";
import type { Incident } from "./incidents.ts";

/** The time in which one source did not reach one target, in milliseconds. */
export interface OutageWindow {
  readonly result: CheckResult;
  /** The last success before it, if known. */
  readonly brokenAfter?: number;
  readonly brokenBy: number;
  readonly restoredAfter: number;
  readonly restoredBy?: number;
  /** `unknown`: open when its source reported last. */
  readonly state: "over" | "open" | "unknown";
  readonly reason: string;
  readonly why: string;
  readonly message: string;
}

/** Newest first. */
export function outageWindows(check: PodNetworkConnectivityCheck, zones: Zones, now: number): OutageWindow[] {
  const result = resultOf(check, zones, now);
  const isHeard = result.verdict !== "unknown" && !isRetired(check);
  return historyState(fromStatus(check.status, now)).outages.map((outage) => windowOf(outage, result, isHeard));
}

function windowOf(
  { start, end, startedAfter, endedAfter, startLogs, endLogs, message }: Outage,
  result: CheckResult,
  isHeard: boolean,
): OutageWindow {
  const first = startLogs.at(-1) ?? endLogs.at(-1);
  const last = endedAfter ?? endLogs.find(({ outcome }) => outcome.endsWith("Error"))?.at ?? start;
  const isNow = end === undefined && result.verdict === "failed";
  return {
    result,
    ...(startedAfter !== undefined && { brokenAfter: startedAfter }),
    brokenBy: start,
    restoredAfter: Math.max(start, Math.min(last, end ?? last)),
    ...(end !== undefined && { restoredBy: end }),
    state: end !== undefined ? "over" : isHeard ? "open" : "unknown",
    reason: first?.outcome ?? (isNow ? result.reason : "ConnectError"),
    why: failureText(first?.message ?? (isNow ? result.message : "")),
    message,
  };
}

export interface CheckWithOutages {
  readonly check: PodNetworkConnectivityCheck;
  readonly result: CheckResult;
  readonly outages: readonly OutageWindow[];
}

/**
 * The results of all checks during an incident. A check without an outage at that time counts as working if it was probed: outages are the
 * last that a check forgets.
 */
export function resultsDuring(all: readonly CheckWithOutages[], { outages, brokenBy }: Incident): CheckResult[] {
  const begun = Math.max(...outages.map((outage) => outage.brokenBy));
  const over = Math.min(...outages.map(({ restoredBy = Infinity }) => restoredBy));
  const moment = begun < over ? begun : brokenBy;
  const own = new Map(outages.map((outage) => [outage.result.check, outage]));
  return all
    .filter(({ check, result }) => own.has(result.check) || !(Date.parse(check.metadata.creationTimestamp ?? "") > moment))
    .map(({ check, result, outages: known }): CheckResult => {
      const outage = own.get(result.check) ?? known.find(({ brokenBy: from, restoredBy: to = Infinity }) => from <= moment && moment < to);
      if (!outage && result.verdict === "unknown" && (result.since <= moment || lastResultOf(check) === undefined)) return result;
      if (!outage) return Object.assign({}, result, { verdict: "reached", reason: "ConnectDone", why: "" });
      return Object.assign({}, result, { verdict: "failed", reason: outage.reason, why: outage.why });
    });
}
