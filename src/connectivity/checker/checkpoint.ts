import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { LONGEST_CHECKPOINT_MS } from "./longest-checkpoint.ts";
import { checkpointAnnotation } from "../../api/annotations.ts";

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
