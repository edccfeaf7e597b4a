import type { LogEntry, OutageEntry, PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { metaTime } from "../../api/time.ts";
import { durationText } from "./duration.ts";
import { type LogLine, type CheckHistory, isSuccess, type Outage, type ReachableState } from "./history.ts";
import { historyState } from "./reduce.ts";

export type CheckStatus = NonNullable<PodNetworkConnectivityCheck["status"]>;

export function statusOf(history: CheckHistory, generation?: number, writer?: CheckStatus["writer"]): CheckStatus {
  const { successes, failures, outages, verdict } = historyState(history);
  return {
    ...(successes.length > 0 && { successes: successes.map(logEntry) }),
    ...(failures.length > 0 && { failures: failures.map(logEntry) }),
    ...(outages.length > 0 && { outages: outages.map(outageEntry) }),
    ...(writer && { writer }),
    conditions: [condition(verdict, generation)],
  };
}

function condition({ status, since, reason, message }: ReachableState, generation: number | undefined) {
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  return { type: "Reachable", status, reason, message, lastTransitionTime: timeText(since), ...observed };
}

function logEntry(entry: LogLine): LogEntry {
  const { at, outcome, message, latencyMs } = entry;
  const latency = latencyMs === undefined ? {} : { latency: durationText(latencyMs) };
  return { time: timeText(at), success: isSuccess(entry), reason: outcome, message, ...latency };
}

function outageEntry({ start, end, startedAfter, endedAfter, startLogs, endLogs, message }: Outage): OutageEntry {
  return {
    start: timeText(start),
    ...(end !== undefined && { end: timeText(end) }),
    ...(startedAfter !== undefined && { startedAfter: timeText(startedAfter) }),
    ...(endedAfter !== undefined && { endedAfter: timeText(endedAfter) }),
    ...(startLogs.length > 0 && { startLogs: startLogs.map(logEntry) }),
    ...(endLogs.length > 0 && { endLogs: endLogs.map(logEntry) }),
    message,
  };
}

const timeText = (at: number) => metaTime(new Date(at));
