import type { LogEntry, PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Condition } from "../../api/kind.ts";

type Status = NonNullable<PodNetworkConnectivityCheck["status"]>;

/** The last result, outage, transition or creation, in milliseconds. Marking it Stale does not count. */
export function activityOf({ metadata, status = {} }: PodNetworkConnectivityCheck): number {
  const flips = (status.conditions ?? []).filter((condition) => !isStale(condition)).map(({ lastTransitionTime }) => lastTransitionTime);
  return newest([metadata.creationTimestamp, ...flips, ...resultTimes(status)]) ?? -Infinity;
}

/** In milliseconds; undefined for a check without a result. */
export function lastResultOf({ status = {} }: PodNetworkConnectivityCheck): number | undefined {
  return newest(resultTimes(status));
}

export function reachableOf({ status }: PodNetworkConnectivityCheck): Condition | undefined {
  return status?.conditions?.find(({ type }) => type === "Reachable");
}

export function isStale({ status, reason }: Condition): boolean {
  return status === "Unknown" && reason === "Stale";
}

/** Keeps only what `activityOf` needs: the controller caches all checks of a cluster. */
export function stripCheck({ status, ...check }: PodNetworkConnectivityCheck): PodNetworkConnectivityCheck {
  if (!status) return check;
  const { conditions } = status;
  const at = lastResultOf({ ...check, status });
  const time = at === undefined ? undefined : new Date(at).toISOString();
  return {
    ...check,
    status: { ...(conditions && { conditions }), ...(time !== undefined && { successes: [{ time, success: true }] }) },
  };
}

function resultTimes({ successes = [], failures = [], outages = [] }: Status): (string | null | undefined)[] {
  const entries: LogEntry[] = [...successes, ...failures];
  const moments: (string | null | undefined)[] = [];
  for (const { start, end, startLogs = [], endLogs = [] } of outages) {
    moments.push(start, end);
    entries.push(...startLogs, ...endLogs);
  }
  for (const { time } of entries) moments.push(time);
  return moments;
}

function newest(moments: readonly (string | null | undefined)[]): number | undefined {
  let latest: number | undefined;
  for (const moment of moments) {
    const at = Date.parse(moment ?? "");
    if (at > (latest ?? -Infinity)) latest = at;
  }
  return latest;
}
