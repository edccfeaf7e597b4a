import type { OutageEntry, PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { EventText } from "../../kube/event-correlator.ts";

/** Which outages of a check people have been told of: the starts of those whose beginning and whose end was told last, in milliseconds. */
export interface Told {
  readonly opened: number;
  readonly closed: number;
}

/** What there is to tell of the outages that the API shows, oldest first, and what has been told then. */
export function tellings(check: PodNetworkConnectivityCheck, told: Told): { texts: EventText[]; told: Told } {
  const begun = (check.status?.outages ?? []).filter((outage) => !Number.isNaN(startOf(outage)));
  const over = begun.filter(({ end }) => end);
  const [newBegun, newOver] = [newerThan(begun, told.opened), newerThan(over, told.closed)];
  const texts: EventText[] = [];
  for (const outage of begun.toReversed()) {
    if (newBegun.includes(outage)) texts.push(detected(outage));
    if (newOver.includes(outage)) texts.push(restored(check, outage));
  }
  return { texts, told: { opened: startOf(newBegun[0]) || told.opened, closed: startOf(newOver[0]) || told.closed } };
}

/** Those above the one told last. Where that is no longer listed, times decide: a clock that was ahead for a while hides nothing as long as it is. */
function newerThan(outages: readonly OutageEntry[], told: number): readonly OutageEntry[] {
  const last = outages.findIndex((outage) => startOf(outage) === told);
  return last < 0 ? outages.filter((outage) => startOf(outage) > told) : outages.slice(0, last);
}

function startOf(outage: OutageEntry | undefined): number {
  return Date.parse(outage?.start ?? "");
}

function detected({ start, startLogs, message = "" }: OutageEntry): EventText {
  return { type: "Warning", reason: "ConnectivityOutageDetected", message: `${startLogs?.at(-1)?.message ?? message} (since ${start})` };
}

/** With its beginning: two outages may last equally long, and are two Events nevertheless. */
function restored({ spec }: PodNetworkConnectivityCheck, { start, message = "" }: OutageEntry): EventText {
  return { type: "Normal", reason: "ConnectivityRestored", message: `${spec.targetEndpoint}: ${message} (the outage since ${start})` };
}
