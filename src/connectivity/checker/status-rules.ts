import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { conditionsChanged } from "../../kube/status/conditions.ts";
import type { DesiredStatus } from "../../kube/status/plan.ts";
import type { CheckStatus } from "../history/status.ts";
import { LONGEST_CHECKPOINT_MS } from "../history/stale.ts";
import { checkpointAnnotation } from "../../api/annotations.ts";

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

/** Refreshes a second that one source strives for. */
const PER_SECOND = 5;
const SHORTEST_MS = 60_000;

/**
 * How long the API is told nothing while nothing happens. The stored lists come out the same however often they are written, so freshness is all
 * that writing more often buys; who made the check may know how many others there are in the cluster.
 */
export function checkpointMs({ metadata }: PodNetworkConnectivityCheck, checks: number): number {
  const requested = Number(metadata.annotations?.[checkpointAnnotation] ?? Number.NaN) * 1000;
  return Math.min(Math.max(Number.isFinite(requested) ? requested : (checks / PER_SECOND) * 1000, SHORTEST_MS), LONGEST_CHECKPOINT_MS);
}

/** Who writes the status of a check, as it stands there. */
export type WriterClaim = NonNullable<NonNullable<PodNetworkConnectivityCheck["status"]>["writer"]>;

/** One process that tries checks: nobody else has this name, and it began then. */
export type CheckWriter = Pick<WriterClaim, "name" | "started">;

/** Whoever begins with a check stands above all who did before: by counting, since clocks differ. */
export function claimCheck({ status }: PodNetworkConnectivityCheck, claimant: CheckWriter): WriterClaim {
  return { ...claimant, term: (status?.writer?.term ?? 0) + 1 };
}

/** Whether the check is the other's. Of two who began with it at once, the one that was started last has it. */
export function outranks(other: WriterClaim | undefined, own: WriterClaim): boolean {
  if (other === undefined || other.name === own.name) return false;
  if (other.term !== own.term) return other.term > own.term;
  return other.started === own.started ? other.name > own.name : other.started > own.started;
}
