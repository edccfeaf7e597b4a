import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Expectation } from "../faults/fault.ts";
import { deadPathMedian, isGood, scoreFault, type FaultResult, scoreOf } from "./result.ts";

const expected: Expectation = { says: /x/, cause: /x/, withinMs: 1 };
const base = { fault: "x", domain: "router", named: ["x"], untrue: [], left: [], interrupted: [] };
const good: FaultResult = { ...base, reportedMs: 1, causeMs: 2, clearedMs: 3 };
const silent: FaultResult = { ...base, causeMs: 2, clearedMs: 3 };
const unexplained: FaultResult = { ...base, reportedMs: 1, clearedMs: 3 };
const lasting: FaultResult = { ...base, reportedMs: 1, causeMs: 2 };

test("a fault passes if it is reported, explained and cleared, without false health and interruptions", () => {
  expect(scoreFault(good, expected)).toEqual({ silent: false, right: true, claimsHealth: false, cleared: true, flowed: true });
  expect(isGood(scoreFault(good, expected))).toBe(true);
});

test.each([
  ["is silent", silent, { silent: true }],
  ["is explained wrongly", unexplained, { right: false }],
  ["leaves a claim of health", { ...good, untrue: ["y"] }, { claimsHealth: true }],
  ["leaves a report behind", { ...lasting, left: ["y"] }, { cleared: false }],
  ["interrupts other traffic", { ...good, interrupted: ["web"] }, { flowed: false }],
])("a fault that %s fails", (_title, outcome, score) => {
  expect(scoreFault(outcome, expected)).toMatchObject(score);
  expect(isGood(scoreFault(outcome, expected))).toBe(false);
});

test("a fault without an expected cause has no wrong cause and is not counted", () => {
  const over: Expectation = { says: /x/, withinMs: 1 };
  expect(scoreFault(unexplained, over)).not.toHaveProperty("right");
  expect(isGood(scoreFault(unexplained, over))).toBe(true);
  expect(scoreOf([scoreFault(unexplained, over), scoreFault(unexplained, expected), scoreFault(good, expected)])).toEqual({
    faults: 3,
    silent: 0,
    expected: 2,
    right: 1,
    claimedHealth: 0,
    notCleared: 0,
    interrupted: 0,
  });
});

test("the median counts only dead paths that were reported", () => {
  const times = fc.array(fc.nat(200_000), { minLength: 1 });
  fc.assert(
    fc.property(times, (named) => {
      const paths = named.map((causeMs): FaultResult => ({ ...base, deadPath: true, causeMs }));
      const median = deadPathMedian([good, unexplained, { ...unexplained, deadPath: true }, ...paths]);
      expect(median?.count).toBe(named.length);
      const ms = median?.ms ?? 0;
      expect(named).toContain(ms);
      expect(2 * named.filter((time) => time <= ms).length).toBeGreaterThanOrEqual(named.length);
      expect(2 * named.filter((time) => time >= ms).length).toBeGreaterThanOrEqual(named.length);
    }),
    { seed: 1 },
  );
  expect(deadPathMedian([good])).toBeUndefined();
});
