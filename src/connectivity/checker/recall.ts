import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { reachableOf } from "../activity.ts";
import { fromStatus } from "../history/from-status.ts";
import type { CheckHistory } from "../history/history.ts";
import { transitionBetween } from "../history/transition.ts";
import { markUnknown, lastResultTime, historyState } from "../history/reduce.ts";

export interface RestoredHistory {
  readonly history: CheckHistory;
  /** The API shows all of it. */
  readonly isShown: boolean;
  /** The API does not know of something that people should hear of at once. */
  readonly isNews: boolean;
}

/** Where a check stands when its source begins. Whoever saw a result last knows: this source before its restart, or the API. */
export function restoreHistory(remembered: CheckHistory | undefined, check: PodNetworkConnectivityCheck, now: number): RestoredHistory {
  const shown = fromStatus(check.status, now);
  if (!remembered || (lastResultTime(remembered) ?? 0) < (lastResultTime(shown) ?? 0))
    return { history: shown, isShown: true, isNews: false };
  const { reason, message, since } = historyState(shown).verdict;
  // While nobody tried, the controller said so: whatever comes next is a flip.
  const history = reachableOf(check)?.status === "Unknown" ? markUnknown(remembered, { reason, message, at: since }) : remembered;
  return { history, isShown: false, isNews: transitionBetween(shown, remembered) !== undefined };
}
