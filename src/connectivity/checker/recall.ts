import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { reachableOf } from "../history/activity.ts";
import { fromStatus } from "../history/from-status.ts";
import type { CheckHistory } from "../history/history.ts";
import { transitionBetween } from "../history/transition.ts";
import { markUnknown, lastResultTime, historyState } from "../history/reduce.ts";

export interface RestoredHistory {
  readonly history: CheckHistory;
  /** The API shows all of it. */
  readonly isPublished: boolean;
  /** The API does not know of something that people should hear of at once. */
  readonly isNews: boolean;
}

/** Where a check stands when its source begins. Whoever saw a result last knows: this source before its restart, or the API. */
export function restoreHistory(remembered: CheckHistory | undefined, check: PodNetworkConnectivityCheck, now: number): RestoredHistory {
  const published = fromStatus(check.status, now);
  if (!remembered || (lastResultTime(remembered) ?? 0) < (lastResultTime(published) ?? 0))
    return { history: published, isPublished: true, isNews: false };
  const { reason, message, since } = historyState(published).verdict;
  // While nobody tried, the controller said so: whatever comes next is a flip.
  const history = reachableOf(check)?.status === "Unknown" ? markUnknown(remembered, { reason, message, at: since }) : remembered;
  return { history, isPublished: false, isNews: transitionBetween(published, remembered) !== undefined };
}
