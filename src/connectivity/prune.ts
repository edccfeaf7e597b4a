import { type PodNetworkConnectivityCheck, sourceOf } from "../api/connectivity/pod-network-connectivity-check.ts";
import { metaTime } from "../api/time.ts";
import { activityOf } from "./history/activity.ts";
import { retiredAnnotation } from "../api/annotations.ts";

/** How long nothing must have happened to a check. */
export const INACTIVE_MS = 48 * 3_600_000;
/** How long the pruner itself must have watched that nothing happens: after a long outage of the API every check looks abandoned. */
export const WATCHED_MS = 3_600_000;

export interface PruneView {
  /** What time it is, in milliseconds. */
  readonly now: number;
  /** For how long the pruner has seen the check, without a break in its view and without anything new in it. */
  readonly quietMs: number;
  /** A mesh asks for it. */
  readonly isWanted: boolean;
  /** Its pod or node is there. */
  readonly sourceLives: boolean;
  readonly inactiveMs?: number;
}

/** Why a check may go, or why it must stay. */
export type Pruning = { readonly prune: string } | { readonly keep: string };

export function pruneDecision(check: PodNetworkConnectivityCheck, view: PruneView): Pruning {
  const { now, quietMs, isWanted, sourceLives, inactiveMs = INACTIVE_MS } = view;
  const { deletionTimestamp, ownerReferences, annotations } = check.metadata;
  if (deletionTimestamp !== undefined) return { keep: "it is being deleted" };
  const [owner] = ownerReferences ?? [];
  if (owner) return { keep: `it is owned by ${owner.kind} ${owner.name}` };
  if (isWanted) return { keep: "a mesh requires it" };
  const activity = activityOf(check);
  // A time that lies ahead is no time to count from: somebody's clock is wrong, and somebody wrote it.
  if (!Number.isFinite(activity) || now - activity < inactiveMs)
    return { keep: `it was active within the last ${inactiveMs / 3_600_000} hours` };
  if (quietMs < WATCHED_MS) return { keep: "it has not been observed long enough" };
  const retired = annotations?.[retiredAnnotation];
  if (sourceLives && retired === undefined) return { keep: `its source ${sourceOf(check)} exists` };
  const why = retired === undefined ? `its source ${sourceOf(check)} is gone` : "no mesh requires it";
  return { prune: `No activity since ${metaTime(new Date(activity))}, and ${why}` };
}

/** How long the pruner has looked without a break, by two clocks: one that nobody sets and the one on the wall. */
export interface ClockReading {
  /** In monotonic milliseconds, which stand still while the machine sleeps. */
  readonly steady: number;
  readonly wall: number;
  /** When the API was last heard, in monotonic milliseconds. */
  readonly heardAt: number | undefined;
}

/** An API that says nothing for this long is away: it sends a bookmark every minute. */
const LONGEST_QUIET_MS = 180_000;
/** Who did not look for this long was asleep. */
const LONGEST_GAP_MS = 180_000;
/** A clock on the wall that moves by this much more or less than the other was set. */
const LARGEST_STEP_MS = 60_000;

export class ObservationWindow {
  #last: ClockReading | undefined;
  #since = 0;

  /** Since when, in monotonic milliseconds, the view has been whole. */
  observe(moment: ClockReading): number {
    const { steady, wall, heardAt = -Infinity } = moment;
    const [slept, moved] = this.#last ? [steady - this.#last.steady, wall - this.#last.wall] : [Infinity, 0];
    const isBroken = slept > LONGEST_GAP_MS || Math.abs(moved - slept) > LARGEST_STEP_MS || steady - heardAt > LONGEST_QUIET_MS;
    if (isBroken) this.#since = steady;
    this.#last = moment;
    return this.#since;
  }
}
