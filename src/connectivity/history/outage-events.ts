import type { OutageEntry, PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { targetText } from "../../api/connectivity/probe.ts";
import type { EventText } from "../../kube/events/event-correlator.ts";

/** The numbers of the outages whose beginning and end were last recorded as Events. */
export interface RecordedOutages {
  readonly opened: number;
  readonly closed: number;
}

/** The Events for the outages in the status, oldest first, and the new record. */
export function outageEvents(
  check: PodNetworkConnectivityCheck,
  recorded: RecordedOutages,
): { texts: EventText[]; recorded: RecordedOutages } {
  const begun = numbered(check.status?.outages ?? []);
  const over = begun.filter(({ outage }) => outage.end);
  const [newBegun, newOver] = [newerThan(begun, recorded.opened), newerThan(over, recorded.closed)];
  const texts: EventText[] = [];
  for (const one of begun.toReversed()) {
    if (newBegun.includes(one)) texts.push(detected(one.outage));
    if (newOver.includes(one)) texts.push(restored(check, one.outage));
  }
  return { texts, recorded: { opened: newBegun[0]?.number ?? recorded.opened, closed: newOver[0]?.number ?? recorded.closed } };
}

interface Numbered {
  readonly outage: OutageEntry;
  /** Its start in milliseconds, a whole second, plus one for each earlier outage in the same second. */
  readonly number: number;
}

function numbered(outages: readonly OutageEntry[]): Numbered[] {
  const starts = outages.map(({ start }) => Date.parse(start ?? ""));
  const all = outages.map((outage, at) => {
    const start = starts[at] ?? Number.NaN;
    return { outage, number: start + starts.slice(at + 1).filter((other) => other === start).length };
  });
  return all.filter(({ number }) => !Number.isNaN(number));
}

/** Outages after the recorded one. If that is no longer listed, by time: a clock that was ahead hides nothing as long as it is listed. */
function newerThan(outages: readonly Numbered[], recorded: number): readonly Numbered[] {
  const last = outages.findIndex(({ number }) => number === recorded);
  return last < 0 ? outages.filter(({ number }) => number > recorded) : outages.slice(0, last);
}

function detected({ start, startLogs, message = "" }: OutageEntry): EventText {
  return { type: "Warning", reason: "ConnectivityOutageDetected", message: `${startLogs?.at(-1)?.message ?? message} (since ${start})` };
}

/** Includes its beginning: two outages of the same duration are two Events. */
function restored(check: PodNetworkConnectivityCheck, { start, message = "" }: OutageEntry): EventText {
  return { type: "Normal", reason: "ConnectivityRestored", message: `${targetText(check)}: ${message} (outage since ${start})` };
}
