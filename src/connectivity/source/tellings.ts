import type { OutageEntry, PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { EventText } from "../../kube/event-correlator.ts";

/** Which outages of a check people have been told of: the start and the end told last, in milliseconds. */
export interface Told {
  readonly opened: number;
  readonly closed: number;
}

/** What there is to tell of the outages that the API shows, oldest first, and what has been told then. */
export function tellings(check: PodNetworkConnectivityCheck, told: Told): { texts: EventText[]; told: Told } {
  const outages = check.status?.outages ?? [];
  const begun = newerThan(outages, ({ start }) => start, told.opened);
  const over = newerThan(outages, ({ end }) => end, told.closed);
  const texts: EventText[] = [];
  for (const outage of outages.toReversed()) {
    if (begun.has(outage)) texts.push(detected(outage));
    if (over.has(outage)) texts.push(restored(check, outage));
  }
  return {
    texts,
    told: { opened: newestOf(begun, ({ start }) => start, told.opened), closed: newestOf(over, ({ end }) => end, told.closed) },
  };
}

type Moment = (outage: OutageEntry) => string | null | undefined;

/** Those above the one told last. Where that is no longer listed, times decide: a clock that was ahead for a while hides nothing as long as it is. */
function newerThan(outages: readonly OutageEntry[], moment: Moment, told: number): Set<OutageEntry> {
  const timed = outages.filter((outage) => !Number.isNaN(timeOf(outage, moment)));
  const last = timed.findIndex((outage) => timeOf(outage, moment) === told);
  return new Set(last < 0 ? timed.filter((outage) => timeOf(outage, moment) > told) : timed.slice(0, last));
}

function newestOf([newest]: Iterable<OutageEntry>, moment: Moment, told: number): number {
  return newest ? timeOf(newest, moment) : told;
}

function timeOf(outage: OutageEntry, moment: Moment): number {
  return Date.parse(moment(outage) ?? "");
}

function detected({ start, startLogs, message = "" }: OutageEntry): EventText {
  return { type: "Warning", reason: "ConnectivityOutageDetected", message: `${startLogs?.at(-1)?.message ?? message} (since ${start})` };
}

function restored({ spec }: PodNetworkConnectivityCheck, { message = "" }: OutageEntry): EventText {
  return { type: "Normal", reason: "ConnectivityRestored", message: `${spec.targetEndpoint}: ${message}` };
}
