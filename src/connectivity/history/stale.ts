import { type PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { metaTime } from "../../api/time.ts";
import { isStale, lastResultOf, reachableOf } from "./activity.ts";
import { INTERVAL_MS } from "./attempt.ts";

/** The longest checkpoint interval: the first result after it is written. */
export const LONGEST_CHECKPOINT_MS = 600_000;

/** The Lease of a check's source. `off`: it is renewed, but the source runs no checks. `none`: there is none, as with other checkers. */
export type SourceLiveness =
  | { readonly is: "alive" }
  | { readonly is: "off" }
  | { readonly is: "silent"; readonly since: Date }
  | { readonly is: "none" };

export interface SourceObservation {
  /** Since when it has been watched without a break. */
  readonly since: number;
  /** When its status last changed while it was watched. */
  readonly heardAt?: number;
  readonly markedAt?: number;
}

/** Three intervals without a first result. */
const UNTRIED_MS = 3 * INTERVAL_MS;
/** Without a Lease, as with OpenShift's checker: the longest checkpoint and three intervals. */
export const LEASELESS_MS = LONGEST_CHECKPOINT_MS + 3 * INTERVAL_MS;

/** With a Lease: three of the longest checkpoints. The source is alive but does not probe it. */
export const NO_RESULT_MS = 3 * LONGEST_CHECKPOINT_MS;

/** Why the check must be marked Stale, or after how many milliseconds to check again; undefined if only a change matters. */
export function staleness(
  check: PodNetworkConnectivityCheck,
  sign: SourceLiveness,
  observation: SourceObservation,
  now: number,
): { message: string } | { againMs: number } | undefined {
  if (isMarked(check)) return undefined;
  const { since, heardAt = -Infinity, markedAt = Infinity } = observation;
  if (sign.is === "alive") {
    // A source reports only once that it cannot probe a check.
    if (reachableOf(check)?.status === "Unknown") return undefined;
    const waitMs = Math.max(since, heardAt) + NO_RESULT_MS - now;
    return waitMs > 0 ? { againMs: waitMs } : { message: mute(check) };
  }
  if (sign.is === "off") return { message: off(check) };
  if (sign.is === "silent") {
    // If results keep coming without a renewal of the Lease, the results count.
    const waitMs = heardAt > markedAt ? heardAt + LEASELESS_MS - now : 0;
    return waitMs > 0 ? { againMs: waitMs } : { message: silentSince(check, sign.since) };
  }
  const result = lastResultOf(check);
  const waitMs = Math.max(since, heardAt) + (result === undefined ? UNTRIED_MS : LEASELESS_MS) - now;
  if (waitMs > 0) return { againMs: waitMs };
  return { message: result === undefined ? untried(check) : silentSince(check, new Date(result)) };
}

function isMarked(check: PodNetworkConnectivityCheck): boolean {
  const reachable = reachableOf(check);
  return reachable !== undefined && (isStale(reachable) || (reachable.status === "Unknown" && reachable.reason === "Retired"));
}

function silentSince(check: PodNetworkConnectivityCheck, since: Date): string {
  return `Source ${sourceOf(check)} has not reported since ${metaTime(since)}; the rest of this status is its last report`;
}

function off(check: PodNetworkConnectivityCheck): string {
  return `Agent on node ${sourceOf(check)} runs without component connectivity; the rest of this status is its last report`;
}

function mute(check: PodNetworkConnectivityCheck): string {
  return `Source ${sourceOf(check)} is alive but has not reported this check: checker disabled or no access`;
}

function untried(check: PodNetworkConnectivityCheck): string {
  return `Check never ran: source ${sourceOf(check)} is not running, or has no checker`;
}
