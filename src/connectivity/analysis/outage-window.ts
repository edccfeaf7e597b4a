import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { fromStatus } from "../history/from-status.ts";
import type { Outage } from "../history/history.ts";
import { present } from "../history/reduce.ts";
import { isRetired } from "../mesh/steps.ts";
import { failureText } from "./failure-text.ts";
import { type Places, type Said, saidBy } from "./check-result.ts";

/** A time in which one source did not reach one target. Times are in milliseconds. */
export interface SeenOutage {
  /** What the check says now. */
  readonly said: Said;
  /** The last success before it; not known where nothing was seen before. */
  readonly brokenAfter?: number;
  /** The first failure. */
  readonly brokenBy: number;
  /** The last failure that was seen. */
  readonly mendedAfter: number;
  /** The first success after it. */
  readonly mendedBy?: number;
  /** `unheard` was open when its source told for the last time. */
  readonly state: "over" | "open" | "unheard";
  readonly reason: string;
  readonly why: string;
  readonly message: string;
}

/** Every outage that the check still tells of, newest first. */
export function outagesSeen(check: PodNetworkConnectivityCheck, places: Places, now: number): SeenOutage[] {
  const said = saidBy(check, places, now);
  const isHeard = said.verdict !== "unknown" && !isRetired(check);
  return present(fromStatus(check.status, now)).outages.map((outage) => seen(outage, said, isHeard));
}

function seen({ start, end, startedAfter, endedAfter, startLogs, endLogs, message }: Outage, said: Said, isHeard: boolean): SeenOutage {
  const first = startLogs.at(-1) ?? endLogs.at(-1);
  const last = endedAfter ?? endLogs.find(({ outcome }) => outcome.endsWith("Error"))?.at ?? start;
  const isNow = end === undefined && said.verdict === "failed";
  return {
    said,
    ...(startedAfter !== undefined && { brokenAfter: startedAfter }),
    brokenBy: start,
    mendedAfter: Math.max(start, Math.min(last, end ?? last)),
    ...(end !== undefined && { mendedBy: end }),
    state: end !== undefined ? "over" : isHeard ? "open" : "unheard",
    reason: first?.outcome ?? (isNow ? said.reason : "ConnectError"),
    why: failureText(first?.message ?? (isNow ? said.message : "")),
    message,
  };
}
