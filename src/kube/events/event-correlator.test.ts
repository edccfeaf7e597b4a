import { expect, test } from "vitest";
import type { ObjectReference } from "../../api/core/event.ts";
import { EventCorrelator, type EventText, eventOf, recurrenceOf } from "./event-correlator.ts";

const start = Date.parse("2026-11-15T10:00:00.789Z");
const at = (seconds: number) => new Date(start + seconds * 1000);
const lamp = (name: string): ObjectReference => ({ apiVersion: "lamps/v1", kind: "Lamp", namespace: "hall", name, uid: `uid-${name}` });
const lit = (message: string): EventText => ({ type: "Normal", reason: "Lit", message });

test("a repetition increments the count of the same Event", () => {
  const correlator = new EventCorrelator();
  const first = correlator.correlate(lamp("a"), lit("burns red"), at(0));
  const second = correlator.correlate(lamp("a"), lit("burns red"), at(60));
  expect(second).toBe(first);
  expect(second).toMatchObject({ count: 2, first: at(0), last: at(60), message: "burns red" });
});

test.for<[string, ObjectReference, EventText]>([
  ["another message", lamp("a"), lit("burns blue")],
  ["another reason", lamp("a"), { ...lit("burns red"), reason: "Dimmed" }],
  ["another type", lamp("a"), { ...lit("burns red"), type: "Warning" }],
  ["another object", lamp("b"), lit("burns red")],
  ["a later object of the same name", { ...lamp("a"), uid: "newer" }, lit("burns red")],
])("%s makes another Event", ([, object, text]) => {
  const correlator = new EventCorrelator();
  const first = correlator.correlate(lamp("a"), lit("burns red"), at(0));
  const other = correlator.correlate(object, text, at(1));
  expect(other?.count).toBe(1);
  expect(other?.name).not.toBe(first?.name);
});

test("from the tenth different message of one reason on, messages are combined into one Event", () => {
  const correlator = new EventCorrelator();
  const names = new Set<string | undefined>();
  for (let n = 1; n <= 9; n++) names.add(correlator.correlate(lamp("a"), lit(`step ${n}`), at(n))?.name);
  expect(names.size).toBe(9);
  const combined = correlator.correlate(lamp("a"), lit("step 10"), at(10));
  expect(combined).toMatchObject({ count: 1, message: "(combined from similar events): step 10" });
  expect(correlator.correlate(lamp("a"), lit("step 11"), at(11))).toBe(combined);
  expect(combined).toMatchObject({ count: 2, message: "(combined from similar events): step 11" });
  expect(correlator.correlate(lamp("a"), lit("step 3"), at(12))).toMatchObject({ count: 2, message: "step 3" });
});

test("messages that keep coming stay combined however long it takes", () => {
  const correlator = new EventCorrelator();
  for (let n = 1; n <= 10; n++) correlator.correlate(lamp("a"), lit(`step ${n}`), at(n * 300));
  expect(correlator.correlate(lamp("a"), lit("step 11"), at(11 * 300))).toMatchObject({
    message: "(combined from similar events): step 11",
  });
});

test("after ten quiet minutes messages become separate Events again", () => {
  const correlator = new EventCorrelator();
  for (let n = 1; n <= 11; n++) correlator.correlate(lamp("a"), lit(`step ${n}`), at(n));
  expect(correlator.correlate(lamp("a"), lit("step 12"), at(11 + 601))).toMatchObject({ message: "step 12" });
});

test("one object may have 25 Events at once and one more every five minutes, without effect on others", () => {
  const correlator = new EventCorrelator();
  const isSent = (object: ObjectReference, seconds: number) => correlator.correlate(object, lit("flickers"), at(seconds)) !== undefined;
  expect(Array.from({ length: 30 }, () => isSent(lamp("a"), 0)).filter(Boolean)).toHaveLength(25);
  expect(isSent(lamp("b"), 0)).toBe(true);
  expect(isSent(lamp("a"), 299)).toBe(false);
  expect(isSent(lamp("a"), 300)).toBe(true);
  expect(isSent(lamp("a"), 301)).toBe(false);
  expect(isSent(lamp("a"), 900)).toBe(true);
});

test("dropped repetitions are counted in the next Event", () => {
  const correlator = new EventCorrelator();
  for (let n = 0; n < 30; n++) correlator.correlate(lamp("a"), lit("flickers"), at(0));
  expect(correlator.correlate(lamp("a"), lit("flickers"), at(300))?.count).toBe(31);
});

test("it keeps the latest 4096 entries", () => {
  const correlator = new EventCorrelator();
  correlator.correlate(lamp("old"), lit("burns red"), at(0));
  correlator.correlate(lamp("used"), lit("burns red"), at(0));
  for (let n = 0; n < 4200; n++) {
    if (n === 4000) correlator.correlate(lamp("used"), lit("burns red"), at(1));
    correlator.correlate(lamp(`lamp-${n}`), lit("burns red"), at(1));
  }
  expect(correlator.correlate(lamp("used"), lit("burns red"), at(2))?.count).toBe(3);
  expect(correlator.correlate(lamp("old"), lit("burns red"), at(2))?.count).toBe(1);
});

test("an Event has its object, reason, message and reporting component", () => {
  const series = new EventCorrelator().correlate(lamp("a"), { type: "Warning", reason: "Broken", message: "no current" }, at(0));
  if (!series) throw new Error("dropped");
  expect(eventOf(series, "plumbline-agent", "node-1")).toEqual({
    metadata: { name: expect.stringMatching(/^a\.[0-9a-f]{16}$/) as string, namespace: "hall" },
    involvedObject: lamp("a"),
    type: "Warning",
    reason: "Broken",
    message: "no current",
    count: 1,
    firstTimestamp: "2026-11-15T10:00:00Z",
    lastTimestamp: "2026-11-15T10:00:00Z",
    source: { component: "plumbline-agent" },
    reportingComponent: "plumbline-agent",
    reportingInstance: "node-1",
  });
  expect(recurrenceOf({ ...series, count: 7, last: at(61) })).toEqual({
    message: "no current",
    count: 7,
    lastTimestamp: "2026-11-15T10:01:01Z",
  });
});

test("Events of a cluster-scoped object are in namespace default", () => {
  const node: ObjectReference = { apiVersion: "v1", kind: "Node", name: "node-1", uid: "uid" };
  const series = new EventCorrelator().correlate(node, lit("up"), at(0));
  expect(series).toMatchObject({ namespace: "default", object: node });
  expect(series?.object).not.toHaveProperty("namespace");
});

test.for(["system:node", `${"long-".repeat(50)}end`, "Upper", "a."])("the Event of an object named %s has a valid name", (name) => {
  const series = new EventCorrelator().correlate({ ...lamp("a"), name }, lit("burns"), at(0));
  expect(series?.name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  expect(series?.name.length).toBeLessThanOrEqual(253);
});

test("a message too long for an Event is cut", () => {
  const series = new EventCorrelator().correlate(lamp("a"), lit("x".repeat(5000)), at(0));
  expect(series?.message).toHaveLength(1024);
  expect(series?.message.endsWith("x…")).toBe(true);
});
