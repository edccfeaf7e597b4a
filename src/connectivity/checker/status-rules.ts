import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { conditionsChanged } from "../../kube/status/conditions.ts";
import type { DesiredStatus } from "../../kube/status/plan.ts";
import type { CheckStatus } from "../history/status.ts";
import { LONGEST_CHECKPOINT_MS } from "../history/stale.ts";
import { checkpointAnnotation } from "../../api/annotations.ts";

/** The source knows the transition times better than the API. */
export const STATUS_RULES = { knowsFlips: true, transition: isNews, yields: isOthers };

function isOthers({ status: existing }: PodNetworkConnectivityCheck, { status }: DesiredStatus<PodNetworkConnectivityCheck>): boolean {
  return "writer" in status && status.writer !== undefined && outranks(existing?.writer, status.writer);
}

/** An outage that began and ended while the API was unreachable changes no condition, but is a transition. */
function isNews(existing: CheckStatus, next: CheckStatus): boolean {
  const [before, after] = [existing.outages?.[0], next.outages?.[0]];
  const otherOutage = before?.start !== after?.start || (before?.end ?? undefined) !== after?.end;
  const anotherWay = before?.startLogs?.length !== after?.startLogs?.length;
  return otherOutage || anotherWay || conditionsChanged(existing.conditions ?? [], next.conditions ?? []);
}

/** The target rate of refreshes of one source. */
const PER_SECOND = 5;
const SHORTEST_MS = 60_000;

/**
 * How long nothing is written while nothing changes. The stored lists are the same however often they are written; the mesh may set the
 * interval by the number of checks in the cluster.
 */
export function checkpointMs({ metadata }: PodNetworkConnectivityCheck, checks: number): number {
  const requested = Number(metadata.annotations?.[checkpointAnnotation] ?? Number.NaN) * 1000;
  return Math.min(Math.max(Number.isFinite(requested) ? requested : (checks / PER_SECOND) * 1000, SHORTEST_MS), LONGEST_CHECKPOINT_MS);
}

export type WriterClaim = NonNullable<NonNullable<PodNetworkConnectivityCheck["status"]>["writer"]>;

/** A process that probes checks, with a unique name and its start time. */
export type CheckWriter = Pick<WriterClaim, "name" | "started">;

/** The latest claim wins: by a counter, since clocks differ. */
export function claimCheck({ status }: PodNetworkConnectivityCheck, claimant: CheckWriter): WriterClaim {
  return { ...claimant, term: (status?.writer?.term ?? 0) + 1 };
}

/** Of two equal claims, the process that started last wins. */
export function outranks(other: WriterClaim | undefined, own: WriterClaim): boolean {
  if (other === undefined || other.name === own.name) return false;
  if (other.term !== own.term) return other.term > own.term;
  return other.started === own.started ? other.name > own.name : other.started > own.started;
}
