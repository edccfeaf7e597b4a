import { expect, test } from "vitest";
import type { Condition } from "../../api/kind.ts";
import { conditionsChanged, setCondition, withTransitionTimes, type ConditionReport } from "./conditions.ts";

const report = (type: string, status: Condition["status"], reason = "Because"): ConditionReport => ({ type, status, reason, message: "" });
const stored = (type: string, status: Condition["status"], lastTransitionTime: string): Condition => ({
  ...report(type, status),
  lastTransitionTime,
});

const yesterday = "2026-11-14T08:00:00Z";
const now = "2026-11-15T08:00:00Z";

test("a condition keeps its lastTransitionTime while its status stays, whatever its reason", () => {
  const [ready] = withTransitionTimes([report("Ready", "True", "StillGood")], [stored("Ready", "True", yesterday)], now);
  expect(ready).toEqual({ type: "Ready", status: "True", reason: "StillGood", message: "", lastTransitionTime: yesterday });
});

test("a condition that changes its status, a new one, and one without a time get the current time", () => {
  const conditions = withTransitionTimes(
    [report("Ready", "False"), report("Degraded", "True"), report("Odd", "True")],
    [stored("Ready", "True", yesterday), stored("Gone", "True", yesterday), stored("Odd", "True", "")],
    now,
  );
  expect(conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
    ["Ready", now],
    ["Degraded", now],
    ["Odd", now],
  ]);
});

test("the lastTransitionTime of a report is ignored", () => {
  const [ready] = withTransitionTimes([stored("Ready", "True", now)], [stored("Ready", "True", yesterday)], now);
  expect(ready?.lastTransitionTime).toBe(yesterday);
});

test("setting a condition keeps other conditions and the order", () => {
  const theirs = stored("Theirs", "Unknown", yesterday);
  const ours = stored("Ours", "True", yesterday);
  const last = stored("Last", "True", yesterday);
  expect(setCondition([theirs, ours, last], report("Ours", "False"))).toEqual([theirs, report("Ours", "False"), last]);
  expect(setCondition([theirs], report("Ours", "False"))).toEqual([theirs, report("Ours", "False")]);
});

test.each<[string, ConditionReport[], ConditionReport[], boolean]>([
  ["nothing", [], [], false],
  ["another order and reason", [report("A", "True"), report("B", "False")], [report("B", "False", "Why"), report("A", "True")], false],
  ["a changed value", [report("A", "True")], [report("A", "Unknown")], true],
  ["a new condition", [report("A", "True")], [report("A", "True"), report("B", "True")], true],
  ["a removed condition", [report("A", "True"), report("B", "True")], [report("A", "True")], true],
  ["one condition for another", [report("A", "True")], [report("B", "True")], true],
])("%s: %#", (_title, before, after, expected) => {
  expect(conditionsChanged(before, after)).toBe(expected);
});
