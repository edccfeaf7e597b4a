import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { fromStatus } from "../history/from-status.ts";
import type { Outage } from "../history/history.ts";
import { historyState } from "../history/reduce.ts";
import { isRetired } from "../mesh/steps.ts";
import { failureText } from "./labels.ts";
import { type Zones, type CheckResult, resultOf } from "./check-result.ts";

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
