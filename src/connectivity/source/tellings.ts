import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { EventText } from "../../kube/event-correlator.ts";

/** Which outages of a check people have been told of: the newest start and the newest end, in milliseconds. */
export interface Told {
  readonly opened: number;
  readonly closed: number;
}

/** What there is to tell of the outages that the API shows, oldest first, and what has been told then. */
export function tellings(check: PodNetworkConnectivityCheck, told: Told): { texts: EventText[]; told: Told } {
  const texts: EventText[] = [];
  let { opened, closed } = told;
  for (const { start, end, startLogs, message = "" } of (check.status?.outages ?? []).toReversed()) {
    const [from, to] = [Date.parse(start ?? ""), Date.parse(end ?? "")];
    const why = startLogs?.at(-1)?.message ?? message;
    if (from > opened) {
      opened = from;
      texts.push({ type: "Warning", reason: "ConnectivityOutageDetected", message: `${why} (since ${start})` });
    }
    if (to > closed) {
      closed = to;
      texts.push({ type: "Normal", reason: "ConnectivityRestored", message: `${check.spec.targetEndpoint}: ${message}` });
    }
  }
  return { texts, told: { opened, closed } };
}
