import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { lastResultOf } from "../history/activity.ts";
import type { Incident } from "./incidents.ts";
import type { CheckResult } from "./check-result.ts";
import type { OutageWindow } from "./outage-window.ts";

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
