import { expect, test } from "vitest";
import type { Failure } from "../resilience/failure.ts";
import type { RouterApplyResult } from "./pass-record.ts";
import type { PassOutcome } from "./report.ts";
import { driftEvents, failing, failureEvents, foreignEvents, knownForeign, stillFailing } from "./events.ts";

const failure = (name: string, message: string): Failure => ({
  kind: "L2VNI",
  name,
  namespace: "openperouter-system",
  reason: "ValidationFailed",
  field: "",
  message,
  class: "Permanent",
});

const outcome = (...failures: Failure[]): PassOutcome => ({
  selected: [
    { kind: "L2VNI", name: "red", generation: 2 },
    { kind: "L2VNI", name: "blue", generation: 1 },
  ],
  failures,
  live: new Map(),
});

const eventsAfter = (before: PassOutcome, now: PassOutcome) => failureEvents(failing(before.failures), now, "n1");

test("a resource that begins to fail gets one Event", () => {
  const now = outcome(failure("red", "VNI 100 conflicts with L3VNI blue"));
  expect(eventsAfter(outcome(), now)).toEqual([
    { about: "L2VNI/red", text: { type: "Warning", reason: "ValidationFailed", message: "Node n1: VNI 100 conflicts with L3VNI blue" } },
  ]);
  expect(eventsAfter(now, now)).toEqual([]);
});

test("a resource that fails for another reason gets another Event with all its reasons", () => {
  const now = outcome(failure("red", "one"), failure("red", "two"));
  expect(eventsAfter(outcome(failure("red", "one")), now).map(({ text }) => text.message)).toEqual(["Node n1: one; two"]);
});

test("a resource that recovers gets an Event", () => {
  expect(eventsAfter(outcome(failure("red", "one")), outcome())).toEqual([
    { about: "L2VNI/red", text: { type: "Normal", reason: "Applied", message: "Node n1: generation 2 is live" } },
  ]);
});

test("a resource that waits for the Underlay gets no Event", () => {
  const underlay: Failure = { ...failure("u", "Interface eth7 not present on node"), kind: "Underlay" };
  const stopped: PassOutcome = { ...outcome(underlay), stopped: underlay };
  const before = outcome(failure("red", "one"));
  expect(eventsAfter(before, stopped).map(({ about }) => about)).toEqual(["Underlay/u"]);
  expect([...stillFailing(failing(before.failures), stopped).keys()]).toEqual(["L2VNI/red", "Underlay/u"]);
});

test("a failed resource that is deleted gets no Event", () => {
  expect(eventsAfter(outcome(failure("gone", "one")), outcome())).toEqual([]);
});

test("repaired drift gets an Event, a requested change does not", () => {
  const done: RouterApplyResult = {
    failures: [],
    rejected: new Map(),
    live: new Map(),
    changes: [
      { owner: "L2VNI/red", links: 2, lines: 1, drift: true },
      { owner: "L2VNI/blue", links: 5, lines: 0, drift: false },
      { owner: "", links: 1, lines: 0, drift: true },
    ],
    foreign: ["ip route 198.51.100.0/24 blackhole"],
  };
  expect(driftEvents(done, "n1").map(({ about, text }) => `${about}: ${text.message}`)).toEqual([
    "L2VNI/red: Node n1: Configuration drift repaired: 2 link changes and 1 FRR line",
    "status: Node n1: Configuration drift repaired: 1 link change",
    'status: Node n1: Removed FRR lines that no resource configures: "ip route 198.51.100.0/24 blackhole"',
  ]);
});

test("after an FRR restart, a repaired link gets an Event and restored lines do not", () => {
  const done: RouterApplyResult = {
    failures: [],
    rejected: new Map(),
    live: new Map(),
    changes: [
      { owner: "L2VNI/red", links: 1, lines: 4, drift: true },
      { owner: "L2VNI/blue", links: 0, lines: 4, drift: true },
    ],
    foreign: ["ip route 198.51.100.0/24 blackhole"],
  };
  expect(driftEvents(done, "n1", { frrRestarted: true }).map(({ about, text }) => `${about}: ${text.message}`)).toEqual([
    "L2VNI/red: Node n1: Configuration drift repaired: 1 link change",
  ]);
});

test("a foreign object gets one Event when it appears", () => {
  const rule = { object: "rule", netns: "router", text: "5: from all blackhole" } as const;
  const qdisc = { object: "qdisc", netns: "host", link: "host-110", text: "qdisc netem 1: dev host-110 root loss 9%" } as const;
  const text = 'Node n1: foreign objects may block packets: tc "qdisc netem 1: dev host-110 root loss 9%" in the host\'s namespace';
  expect(foreignEvents([rule], [rule, qdisc], "n1")).toEqual([
    { about: "status", text: { type: "Warning", reason: "ForeignObjects", message: text } },
  ]);
  expect(foreignEvents([rule, qdisc], [rule], "n1")).toEqual([]);
});

test("a foreign object that the status names gets no Event after an agent restart", () => {
  const route = { object: "route", netns: "router", text: "198.51.100.0/24 blackhole" } as const;
  const known = knownForeign({ foreign: [{ object: "route", namespace: "router", text: "198.51.100.0/24 blackhole" }] });
  expect(foreignEvents(known, [route], "n1")).toEqual([]);
  expect(knownForeign(undefined)).toEqual([]);
});
