import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { checkpointMark } from "../marks.ts";

/** Refreshes a second that one source strives for. */
const PER_SECOND = 5;
const SHORTEST_MS = 60_000;
const LONGEST_MS = 600_000;

/**
 * How far the API may be behind while nothing happens. The stored lists come out the same however often they are written, so freshness is all
 * that writing more often buys; who made the check may know how many others there are in the cluster.
 */
export function checkpointMs({ metadata }: PodNetworkConnectivityCheck, checks: number): number {
  const told = Number(metadata.annotations?.[checkpointMark] ?? Number.NaN) * 1000;
  return Math.min(Math.max(Number.isFinite(told) ? told : (checks / PER_SECOND) * 1000, SHORTEST_MS), LONGEST_MS);
}

/**
 * Whether a checkpoint lies between two moments. Each check has its own, at its `phase` of the period, from 0 to 1: checks that were written
 * together, because they failed together, are not refreshed together ever after.
 */
export function isCheckpointBetween(before: number, now: number, periodMs: number, phase: number): boolean {
  const passed = (at: number): number => Math.floor(at / periodMs + phase);
  return passed(now) > passed(before);
}
