import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { lastResultOf } from "../activity.ts";
import type { Incident } from "./incidents.ts";
import type { CheckResult } from "./check-result.ts";
import type { OutageWindow } from "./outage-window.ts";

/** A check and all it tells of. */
export interface CheckWithOutages {
  readonly check: PodNetworkConnectivityCheck;
  readonly said: CheckResult;
  readonly outages: readonly OutageWindow[];
}

/** What all checks said while an incident lasted. One that tells of no outage then was well, if it was tried: outages are what checks forget last. */
export function resultsDuring(all: readonly CheckWithOutages[], { outages, brokenBy }: Incident): CheckResult[] {
  const begun = Math.max(...outages.map((outage) => outage.brokenBy));
  const over = Math.min(...outages.map(({ restoredBy = Infinity }) => restoredBy));
  const moment = begun < over ? begun : brokenBy;
  const own = new Map(outages.map((outage) => [outage.said.check, outage]));
  return all
    .filter(({ check, said }) => own.has(said.check) || !(Date.parse(check.metadata.creationTimestamp ?? "") > moment))
    .map(({ check, said, outages: told }): CheckResult => {
      const outage = own.get(said.check) ?? told.find(({ brokenBy: from, restoredBy: to = Infinity }) => from <= moment && moment < to);
      if (!outage && said.verdict === "unknown" && (said.since <= moment || lastResultOf(check) === undefined)) return said;
      if (!outage) return Object.assign({}, said, { verdict: "reached", reason: "ConnectDone", why: "" });
      return Object.assign({}, said, { verdict: "failed", reason: outage.reason, why: outage.why });
    });
}
