import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { conditionsChanged } from "../../kube/status/conditions.ts";
import type { DesiredStatus } from "../../kube/status/plan.ts";
import type { CheckStatus } from "../history/status.ts";
import { outranks } from "./writer-claim.ts";

/** How the writer treats the status of a check: when a target was lost or found is known better than when the API heard of it. */
export const STATUS_RULES = { knowsFlips: true, transition: isNews, yields: isOthers };

function isOthers({ status: existing }: PodNetworkConnectivityCheck, { status }: DesiredStatus<PodNetworkConnectivityCheck>): boolean {
  return "writer" in status && status.writer !== undefined && outranks(existing?.writer, status.writer);
}

/** An outage that began and ended while the API was away flips nothing, and is news nevertheless. */
function isNews(existing: CheckStatus, next: CheckStatus): boolean {
  const [before, after] = [existing.outages?.[0], next.outages?.[0]];
  const otherOutage = before?.start !== after?.start || (before?.end ?? undefined) !== after?.end;
  const anotherWay = before?.startLogs?.length !== after?.startLogs?.length;
  return otherOutage || anotherWay || conditionsChanged(existing.conditions ?? [], next.conditions ?? []);
}
