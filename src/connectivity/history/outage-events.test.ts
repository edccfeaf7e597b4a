import { expect, test } from "vitest";
import type { OutageEntry } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { type RecordedOutages, outageEvents } from "./outage-events.ts";

const nothing: RecordedOutages = { opened: -Infinity, closed: -Infinity };
const second = (at: number): string => new Date(at * 1000).toISOString();

function outage(start: number, end?: number): OutageEntry {
  return { start: second(start), message: `${start}`, ...(end !== undefined && { end: second(end) }) };
}

/** `+3` for an outage told of that began in second 3, `-5` for its end. */
function outageEventsOf(outages: OutageEntry[], recorded: RecordedOutages): { texts: string[]; recorded: RecordedOutages } {
  const check = {
    metadata: { name: "c", namespace: "shop" },
    spec: { sourcePod: "p1", targetEndpoint: "10.0.0.1:80" },
    status: { outages },
  };
  const { texts, recorded: after } = outageEvents({ apiVersion: "", kind: "", ...check }, recorded);
  return {
    texts: texts.map(({ type, message }) => `${type === "Warning" ? "+" : "-"}${/\d+$/.exec(message.replace(/ \(.*/, ""))?.[0]}`),
    recorded: after,
  };
}

test("starts and ends of outages are recorded once, oldest first", () => {
  const first = outageEventsOf([outage(7), outage(3, 5)], nothing);
  expect(first.texts).toEqual(["+3", "-3", "+7"]);
  expect(outageEventsOf([outage(7), outage(3, 5)], first.recorded).texts).toEqual([]);
  const second = outageEventsOf([outage(7, 9), outage(3, 5)], first.recorded);
  expect(second.texts).toEqual(["-7"]);
  expect(outageEventsOf([], second.recorded)).toEqual({ texts: [], recorded: second.recorded });
});

test("a clock that was ahead does not hide later outages", () => {
  const { recorded } = outageEventsOf([outage(9000, 9060)], nothing);
  expect(outageEventsOf([outage(20), outage(9000, 9060)], recorded).texts).toEqual(["+20"]);
});

test("two outages that end in the same second are two", () => {
  const { recorded } = outageEventsOf([outage(3, 5)], nothing);
  expect(outageEventsOf([outage(4, 5), outage(3, 5)], recorded).texts).toEqual(["+4", "-4"]);
});

test("a recorded outage that is no longer listed is compared by time", () => {
  expect(outageEventsOf([outage(7, 9), outage(3, 5)], { opened: 4000, closed: 2000 }).texts).toEqual(["-3", "+7", "-7"]);
});

test("an outage without a start has no Event", () => {
  expect(outageEventsOf([{ start: null, message: "" }], nothing).texts).toEqual([]);
});

test("two outages that start in the same second are recorded once each", () => {
  const first = outageEventsOf([outage(3, 3)], nothing);
  expect(first.texts).toEqual(["+3", "-3"]);
  const second = outageEventsOf([outage(3), outage(3, 3)], first.recorded);
  expect(second.texts).toEqual(["+3"]);
  const third = outageEventsOf([outage(3, 3), outage(3, 3)], second.recorded);
  expect(third.texts).toEqual(["-3"]);
  expect(outageEventsOf([outage(3, 3), outage(3, 3)], third.recorded).texts).toEqual([]);
  expect(outageEventsOf([outage(3, 3)], third.recorded).texts).toEqual([]);
  expect(outageEventsOf([outage(5), outage(3, 3), outage(3, 3)], third.recorded).texts).toEqual(["+5"]);
});
