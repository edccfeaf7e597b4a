import { expect, test } from "vitest";
import type { Expectation } from "../faults/fault.ts";
import { observationOf, isOver, type Sample } from "./samples.ts";
import type { StatusStatement } from "./statements.ts";

const expected: Expectation = { says: /^Session down/, untrue: /^Session up/, cause: /^Link/, withinMs: 10_000 };
const up: StatusStatement = { text: "Session up", well: true };
const down: StatusStatement = { text: "Session down", well: false };

function sample(seconds: number, statements: readonly StatusStatement[], ...causes: string[]): Sample {
  return { atMs: seconds * 1000, statements, causes };
}

test("a fault is reported with its first matching status, and explained since its cause stays first", () => {
  const samples = [
    sample(0, [up]),
    sample(1, [down], "Link eth1"),
    sample(2, [down], "Session x", "Link eth1"),
    sample(3, [down], "Link eth1"),
    sample(4, [down], "Link eth1"),
  ];
  expect(observationOf(samples, expected)).toEqual({
    reportedMs: 1000,
    firstReport: "Session down",
    causeMs: 3000,
    named: ["Link eth1"],
    untrue: [],
  });
});

test("a fault without a matching statement is silent until its deadline", () => {
  const samples = [sample(0, [up]), sample(9, [up])];
  expect(observationOf(samples, expected)).toEqual({ named: [], untrue: ["Session up"] });
  expect(isOver(samples, expected)).toBe(false);
  expect(isOver([...samples, sample(10, [up])], expected)).toBe(true);
});

test("a healthy statement that matches does not report the fault", () => {
  expect(observationOf([sample(1, [{ ...down, well: true }], "Link eth1")], expected).reportedMs).toBeUndefined();
});

test("sampling continues while a status claims health, although the fault is explained", () => {
  expect(isOver([sample(1, [up, down], "Link eth1")], expected)).toBe(false);
  expect(isOver([sample(1, [up, down], "Link eth1"), sample(2, [down], "Link eth1")], expected)).toBe(true);
});

test("a wrong cause has some time to become the right one", () => {
  const reported = sample(1, [down], "Session x");
  const patient = { ...expected, withinMs: 60_000 };
  expect(isOver([reported, sample(20, [down], "Session x")], patient)).toBe(false);
  expect(isOver([reported, sample(21, [down], "Session x")], patient)).toBe(true);
});

test("of two faults at once each cause is among the first two", () => {
  const samples = [sample(1, [down], "Pool full", "Link eth1", "Session x")];
  expect(observationOf(samples, expected, 2).causeMs).toBe(1000);
  expect(observationOf(samples, expected, 1).causeMs).toBeUndefined();
  expect(observationOf(samples, { ...expected, cause: /^Session/ }, 2).causeMs).toBeUndefined();
});

test("a fault that ended before the first sample needs no cause", () => {
  const { says, withinMs } = expected;
  const samples = [sample(1, [down])];
  expect(observationOf(samples, { says, withinMs }).causeMs).toBeUndefined();
  expect(isOver(samples, { says, withinMs })).toBe(true);
});
