import { type PodNetworkConnectivityCheck, sourceOf } from "../api/connectivity/pod-network-connectivity-check.ts";
import { metaTime } from "../api/time.ts";
import { activityOf } from "./activity.ts";
import { retiredMark } from "../api/annotations.ts";

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

export function prunable(check: PodNetworkConnectivityCheck, view: PruneView): Pruning {
  const { now, quietMs, isWanted, sourceLives, inactiveMs = INACTIVE_MS } = view;
  const { deletionTimestamp, ownerReferences, annotations } = check.metadata;
  if (deletionTimestamp !== undefined) return { keep: "it is being deleted" };
  const [owner] = ownerReferences ?? [];
  if (owner) return { keep: `it goes with ${owner.kind} ${owner.name}` };
  if (isWanted) return { keep: "a mesh asks for it" };
  const activity = activityOf(check);
  // A time that lies ahead is no time to count from: somebody's clock is wrong, and somebody wrote it.
  if (!Number.isFinite(activity) || now - activity < inactiveMs)
    return { keep: `something happened to it within ${inactiveMs / 3_600_000} hours` };
  if (quietMs < WATCHED_MS) return { keep: "it has not been watched for long enough" };
  const retired = annotations?.[retiredMark];
  if (sourceLives && retired === undefined) return { keep: `its source ${sourceOf(check)} is there` };
  const why = retired === undefined ? `its source ${sourceOf(check)} is gone` : "no mesh asks for it any more";
  return { prune: `Nothing has happened to this check since ${metaTime(new Date(activity))}, and ${why}` };
}
