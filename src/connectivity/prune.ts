import { type PodNetworkConnectivityCheck, sourceOf } from "../api/connectivity/pod-network-connectivity-check.ts";
import { metaTime } from "../api/time.ts";
import { activityOf } from "./history/activity.ts";
import { retiredAnnotation } from "../api/annotations.ts";

/** How long a check must be inactive. */
export const INACTIVE_MS = 48 * 3_600_000;
/** How long the pruner must have watched the inactivity: after a long outage of the API every check looks abandoned. */
export const WATCHED_MS = 3_600_000;

export interface PruneView {
  readonly now: number;
  /** How long the pruner has watched the check without a break or a change. */
  readonly quietMs: number;
  readonly isWanted: boolean;
  readonly sourceLives: boolean;
  readonly inactiveMs?: number;
}

/** Why a check is pruned or kept. */
export type Pruning = { readonly prune: string } | { readonly keep: string };

export function pruneDecision(check: PodNetworkConnectivityCheck, view: PruneView): Pruning {
  const { now, quietMs, isWanted, sourceLives, inactiveMs = INACTIVE_MS } = view;
  const { deletionTimestamp, ownerReferences, annotations } = check.metadata;
  if (deletionTimestamp !== undefined) return { keep: "it is being deleted" };
  const [owner] = ownerReferences ?? [];
  if (owner) return { keep: `it is owned by ${owner.kind} ${owner.name}` };
  if (isWanted) return { keep: "a mesh requires it" };
  const activity = activityOf(check);
  // A time in the future comes from a wrong clock.
  if (!Number.isFinite(activity) || now - activity < inactiveMs)
    return { keep: `it was active within the last ${inactiveMs / 3_600_000} hours` };
  if (quietMs < WATCHED_MS) return { keep: "it has not been observed long enough" };
  const retired = annotations?.[retiredAnnotation];
  if (sourceLives && retired === undefined) return { keep: `its source ${sourceOf(check)} exists` };
  const why = retired === undefined ? `its source ${sourceOf(check)} is gone` : "no mesh requires it";
  return { prune: `No activity since ${metaTime(new Date(activity))}, and ${why}` };
}

/** Tracks since when the watch has no break, by a monotonic and the wall clock. */
export interface ClockReading {
  /** Monotonic, which stops while the machine sleeps. */
  readonly steady: number;
  readonly wall: number;
  /** The last data from the API, in monotonic milliseconds. */
  readonly heardAt: number | undefined;
}

/** Without data for this long the API is unreachable: it sends a bookmark every minute. */
const LONGEST_QUIET_MS = 180_000;
/** A longer gap between two readings means that the process was suspended. */
const LONGEST_GAP_MS = 180_000;
/** A larger difference between the clocks means that the wall clock was set. */
const LARGEST_STEP_MS = 60_000;

export class ObservationWindow {
  #last: ClockReading | undefined;
  #since = 0;

  observe(moment: ClockReading): number {
    const { steady, wall, heardAt = -Infinity } = moment;
    const [slept, moved] = this.#last ? [steady - this.#last.steady, wall - this.#last.wall] : [Infinity, 0];
    const isBroken = slept > LONGEST_GAP_MS || Math.abs(moved - slept) > LARGEST_STEP_MS || steady - heardAt > LONGEST_QUIET_MS;
    if (isBroken) this.#since = steady;
    this.#last = moment;
    return this.#since;
  }
}
