import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { fromStatus } from "../history/from-status.ts";
import type { Outage } from "../history/history.ts";
import { historyState } from "../history/reduce.ts";
import { isRetired } from "../mesh/steps.ts";
import { failureText } from "./labels.ts";
import { type Zones, type CheckResult, resultOf } from "./check-result.ts";

/** A time in which one source did not reach one target. Times are in milliseconds. */
export interface OutageWindow {
  /** What the check says now. */
  readonly result: CheckResult;
  /** The last success before it; not known where nothing was seen before. */
  readonly brokenAfter?: number;
  /** The first failure. */
  readonly brokenBy: number;
  /** The last failure that was seen. */
  readonly restoredAfter: number;
  /** The first success after it. */
  readonly restoredBy?: number;
  /** `unheard` was open when its source told for the last time. */
  readonly state: "over" | "open" | "unheard";
  readonly reason: string;
  readonly why: string;
  readonly message: string;
}

/** Every outage that the check still tells of, newest first. */
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
    state: end !== undefined ? "over" : isHeard ? "open" : "unheard",
    reason: first?.outcome ?? (isNow ? result.reason : "ConnectError"),
    why: failureText(first?.message ?? (isNow ? result.message : "")),
    message,
  };
}
