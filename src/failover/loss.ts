import { secondsBetween } from "../util/duration.ts";
import type { FailoverPolicy } from "../api/failover/failover-policy.ts";
import { metaTime } from "../api/time.ts";

/** What a forced takeover by this site would lose, as far as known. */
export type ExpectedLoss =
  | {
      readonly known: true;
      readonly copyTime: string;
      /** The latest possible write of the other site: now, or its last answer. */
      readonly until: string;
      readonly seconds: number;
      readonly text: string;
    }
  | { readonly known: false; readonly text: string };

export function expectedLoss({ spec, status }: FailoverPolicy, now: Date): ExpectedLoss {
  if (!spec.peer) return unknown("without spec.peer nothing reports how old the copy here is");
  const { lastSyncTime, lastAnswerTime, reachable = false } = status?.peer ?? {};
  if (lastSyncTime === undefined)
    return unknown("the other site has never reported when its volumes were last copied (spec.maxCopyAge there makes it report)");
  const until = reachable ? metaTime(now) : (lastAnswerTime ?? metaTime(now));
  const seconds = secondsBetween(lastSyncTime, until);
  const since = lastAnswerTime === undefined ? `${seconds} s ago` : `${seconds} s before the other site last answered, at ${until}`;
  const when = reachable ? "and the other site still answers" : since;
  const text = `The copy here was made at ${lastSyncTime}, ${when}. What was written there after the copy is lost`;
  return { known: true, copyTime: lastSyncTime, until, seconds, text };
}

function unknown(why: string): ExpectedLoss {
  return { known: false, text: `Unknown: ${why}. Everything that was written at the other site since its last copy is lost` };
}
