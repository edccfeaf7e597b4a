import { type PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { metaTime } from "../../api/time.ts";
import { isStale, lastResultOf, reachableOf } from "./activity.ts";
import { INTERVAL_MS } from "./attempt.ts";

/** The longest that the API is told nothing of a check while nothing happens: the first result after that is written. */
export const LONGEST_CHECKPOINT_MS = 600_000;

/** What the Lease of a check's source says. `off`: it lives and makes no checks. `none`: there is none, as with somebody's own checker. */
export type SourceLiveness =
  | { readonly is: "alive" }
  | { readonly is: "off" }
  | { readonly is: "silent"; readonly since: Date }
  | { readonly is: "none" };

/** What was seen of a check, and when, in monotonic milliseconds. */
export interface SourceObservation {
  /** Since when it has been watched without a break. */
  readonly since: number;
  /** When it last said something new while it was watched. */
  readonly heardAt?: number;
  readonly markedAt?: number;
}

/** Without any result: three attempts have not been made. */
const UNTRIED_MS = 3 * INTERVAL_MS;
/** Without a Lease, as with OpenShift's own checker: three attempts after the longest checkpoint none was written. */
export const LEASELESS_MS = LONGEST_CHECKPOINT_MS + 3 * INTERVAL_MS;

/** With a Lease: who lives and writes nothing for as long as three of the longest checkpoints does not try it, as an agent that was told not to. */
export const NO_RESULT_MS = 3 * LONGEST_CHECKPOINT_MS;

/** Why the check must be marked Stale now, or in how many milliseconds to look again; undefined when only news can change anything. */
export function staleness(
  check: PodNetworkConnectivityCheck,
  sign: SourceLiveness,
  observation: SourceObservation,
  now: number,
): { message: string } | { againMs: number } | undefined {
  if (isMarked(check)) return undefined;
  const { since, heardAt = -Infinity, markedAt = Infinity } = observation;
  if (sign.is === "alive") {
    // What a source says once of a check that it cannot try, it need not say again.
    if (reachableOf(check)?.status === "Unknown") return undefined;
    const waitMs = Math.max(since, heardAt) + NO_RESULT_MS - now;
    return waitMs > 0 ? { againMs: waitMs } : { message: mute(check) };
  }
  if (sign.is === "off") return { message: off(check) };
  if (sign.is === "silent") {
    // One whose results keep coming although nobody renews the Lease is judged by the results.
    const waitMs = heardAt > markedAt ? heardAt + LEASELESS_MS - now : 0;
    return waitMs > 0 ? { againMs: waitMs } : { message: silentSince(check, sign.since) };
  }
  const result = lastResultOf(check);
  const waitMs = Math.max(since, heardAt) + (result === undefined ? UNTRIED_MS : LEASELESS_MS) - now;
  if (waitMs > 0) return { againMs: waitMs };
  return { message: result === undefined ? untried(check) : silentSince(check, new Date(result)) };
}

/** Nobody claims to know anything any more. */
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
