import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { flipped } from "../../kube/status/conditions.ts";
import type { Picture } from "../../kube/status/plan.ts";
import type { CheckStatus } from "../history/status.ts";
import { isAbove } from "./writer-claim.ts";

/** How the writer treats the status of a check: when a target was lost or found is known better than when the API heard of it. */
export const STATUS_RULES = { knowsFlips: true, transition: isNews, yields: isOthers };

function isOthers({ status: held }: PodNetworkConnectivityCheck, { status }: Picture<PodNetworkConnectivityCheck>): boolean {
  return "writer" in status && status.writer !== undefined && isAbove(held?.writer, status.writer);
}

/** An outage that began and ended while the API was away flips nothing, and is news nevertheless. */
function isNews(held: CheckStatus, next: CheckStatus): boolean {
  const [before, after] = [held.outages?.[0], next.outages?.[0]];
  const otherOutage = before?.start !== after?.start || (before?.end ?? undefined) !== after?.end;
  const anotherWay = before?.startLogs?.length !== after?.startLogs?.length;
  return otherOutage || anotherWay || flipped(held.conditions ?? [], next.conditions ?? []);
}
