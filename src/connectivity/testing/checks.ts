/** For tests: checks as sources leave them in the API. */

import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { metaTime } from "../../api/time.ts";
import type { Zones } from "../analysis/check-result.ts";

export const NOW = Date.parse("2026-11-16T12:00:00Z");

/** So many minutes and seconds before now. */
export function ago(minutes: number, seconds = 0): string {
  return metaTime(new Date(NOW - (minutes * 60 + seconds) * 1000));
}

export const noZones: Zones = { zoneOf: () => undefined, nodeAt: () => undefined, nodeOfPod: () => undefined };

type Status = NonNullable<PodNetworkConnectivityCheck["status"]>;

export function check(
  source: string,
  targetEndpoint: string,
  status: Status,
  annotations: Record<string, string> = {},
): PodNetworkConnectivityCheck {
  const name = `${source}-to-${targetEndpoint.replaceAll(/[^a-z0-9]+/g, "-")}`;
  return {
    apiVersion: `${PodNetworkConnectivityCheck.group}/v1alpha1`,
    kind: "PodNetworkConnectivityCheck",
    metadata: { name, namespace: "shop", creationTimestamp: ago(3 * 24 * 60), annotations },
    spec: { sourcePod: source, targetEndpoint },
    status,
  };
}

export function reachableCheck(endpoint: string, time = ago(1)): Status {
  return {
    successes: [{ time, success: true, reason: "ConnectDone", message: `Connected to ${endpoint}`, latency: "200ms" }],
    conditions: [
      { type: "Reachable", status: "True", reason: "ConnectDone", message: `Connected to ${endpoint}`, lastTransitionTime: ago(600) },
    ],
  };
}

/** An outage that is open. */
export function failing(endpoint: string, start: string, more: { startedAfter?: string; time?: string; why?: string } = {}): Status {
  const { startedAfter, time = ago(1), why = "Connection refused" } = more;
  const message = `Failed connect to ${endpoint}; ${why}`;
  const entry = { success: false, reason: "ConnectError", message, latency: "1ms" };
  return {
    failures: [{ ...entry, time }],
    outages: [
      {
        start,
        ...(startedAfter !== undefined && { startedAfter }),
        endedAfter: time,
        startLogs: [{ ...entry, time: start }],
        message: `Connectivity outage detected at ${start}`,
      },
    ],
    conditions: [{ type: "Reachable", status: "False", reason: "ConnectError", message, lastTransitionTime: start }],
  };
}

/** One that is over, and well since. */
export function restoredCheck(
  endpoint: string,
  start: string,
  end: string,
  bounds: { startedAfter?: string; endedAfter?: string } = {},
): Status {
  const { successes, conditions } = reachableCheck(endpoint);
  return {
    ...(successes && { successes }),
    outages: [{ start, end, ...bounds, message: "Connectivity restored" }],
    ...(conditions && { conditions }),
  };
}
