import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { reachableOf } from "../activity.ts";
import { fromStatus } from "../history/from-status.ts";
import type { History } from "../history/history.ts";
import { newsOf } from "../history/transition.ts";
import { doubt, lastSeen, present } from "../history/reduce.ts";

export interface Recalled {
  readonly history: History;
  /** The API shows all of it. */
  readonly isShown: boolean;
  /** The API does not know of something that people should hear of at once. */
  readonly isNews: boolean;
}

/** Where a check stands when its source begins. Whoever saw a result last knows: this source before its restart, or the API. */
export function recall(remembered: History | undefined, check: PodNetworkConnectivityCheck, now: number): Recalled {
  const shown = fromStatus(check.status, now);
  if (!remembered || (lastSeen(remembered) ?? 0) < (lastSeen(shown) ?? 0)) return { history: shown, isShown: true, isNews: false };
  const { reason, message, since } = present(shown).verdict;
  // While nobody tried, the controller said so: whatever comes next is a flip.
  const history = reachableOf(check)?.status === "Unknown" ? doubt(remembered, { reason, message, at: since }) : remembered;
  return { history, isShown: false, isNews: newsOf(shown, remembered) !== undefined };
}
