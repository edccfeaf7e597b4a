import { expect, test } from "vitest";
import type { OutageEntry } from "../api/connectivity/pod-network-connectivity-check.ts";
import { type RecordedOutages, outageEvents } from "./outage-events.ts";

const nothing: RecordedOutages = { opened: -Infinity, closed: -Infinity };
const second = (at: number): string => new Date(at * 1000).toISOString();

function outage(start: number, end?: number): OutageEntry {
  return { start: second(start), message: `${start}`, ...(end !== undefined && { end: second(end) }) };
}

/** `+3` for an outage told of that began in second 3, `-5` for its end. */
function said(outages: OutageEntry[], told: RecordedOutages): { texts: string[]; told: RecordedOutages } {
  const check = {
    metadata: { name: "c", namespace: "shop" },
    spec: { sourcePod: "p1", targetEndpoint: "10.0.0.1:80" },
    status: { outages },
  };
  const { texts, told: after } = outageEvents({ apiVersion: "", kind: "", ...check }, told);
  return {
    texts: texts.map(({ type, message }) => `${type === "Warning" ? "+" : "-"}${/\d+$/.exec(message.replace(/ \(.*/, ""))?.[0]}`),
    told: after,
  };
}

test("beginnings and ends are told oldest first, and never again", () => {
  const first = said([outage(7), outage(3, 5)], nothing);
  expect(first.texts).toEqual(["+3", "-3", "+7"]);
  expect(said([outage(7), outage(3, 5)], first.told).texts).toEqual([]);
  const second = said([outage(7, 9), outage(3, 5)], first.told);
  expect(second.texts).toEqual(["-7"]);
  expect(said([], second.told)).toEqual({ texts: [], told: second.told });
});

test("a clock that was ahead hides no later outage", () => {
  const { told } = said([outage(9000, 9060)], nothing);
  expect(said([outage(20), outage(9000, 9060)], told).texts).toEqual(["+20"]);
});

test("two outages that end in the same second are two", () => {
  const { told } = said([outage(3, 5)], nothing);
  expect(said([outage(4, 5), outage(3, 5)], told).texts).toEqual(["+4", "-4"]);
});

test("what was told and is listed no more is told by its time", () => {
  expect(said([outage(7, 9), outage(3, 5)], { opened: 4000, closed: 2000 }).texts).toEqual(["-3", "+7", "-7"]);
});

test("an outage without a start is nothing to tell", () => {
  expect(said([{ start: null, message: "" }], nothing).texts).toEqual([]);
});

test("two outages that begin in the same second are two, each told of once", () => {
  const first = said([outage(3, 3)], nothing);
  expect(first.texts).toEqual(["+3", "-3"]);
  const second = said([outage(3), outage(3, 3)], first.told);
  expect(second.texts).toEqual(["+3"]);
  const third = said([outage(3, 3), outage(3, 3)], second.told);
  expect(third.texts).toEqual(["-3"]);
  expect(said([outage(3, 3), outage(3, 3)], third.told).texts).toEqual([]);
  expect(said([outage(3, 3)], third.told).texts).toEqual([]);
  expect(said([outage(5), outage(3, 3), outage(3, 3)], third.told).texts).toEqual(["+5"]);
});
