import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import { AnnouncedDelay } from "./announced-delay.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const is = (status: "True" | "False", reason = status === "True" ? "Announced" : "noEndpoints", message = ""): ConditionReport => {
  return { type: "metallb.io/Announced", status, reason, message };
};

/** One Service, looked at now and whenever that was asked for, until nothing is left to do. What is done, with the second it is done in. */
function scenario(stored?: ConditionReport) {
  const pace = new AnnouncedDelay();
  const begun = performance.now();
  const done: string[] = [];
  let written = stored;
  const decide = (condition: ConditionReport, passing = false) => {
    const turn = pace.decide("shop/web", condition, written, passing ? 3_000 : 0);
    const at = `${condition.reason} at ${(performance.now() - begun) / 1000}`;
    if (turn.write) written = condition;
    if (turn.write) done.push(`written ${at}`);
    if (turn.recordEvent) done.push(`told ${at}`);
    return turn.againMs;
  };
  const decideUntilDone = (condition: ConditionReport, passing = false) => {
    for (let again = decide(condition, passing); again !== undefined; again = decide(condition, passing)) vi.advanceTimersByTime(again);
  };
  return { decide, decideUntilDone, done };
}

test("a new Service whose endpoints follow its address is never reported as not announced", () => {
  const { decide, decideUntilDone, done } = scenario();
  expect(decide(is("False"))).toBeGreaterThan(0);
  vi.advanceTimersByTime(1000);
  decideUntilDone(is("True"));
  expect(done).toEqual(["written Announced at 1", "told Announced at 1"]);
});

test("a Service that stays unannounced gets the condition first and the Event later", () => {
  const { decideUntilDone, done } = scenario();
  decideUntilDone(is("False"));
  expect(done).toEqual(["written noEndpoints at 3", "told noEndpoints at 10"]);
});

test("a Service that is announced again before the warning is due gets no Event", () => {
  const { decide, decideUntilDone, done } = scenario(is("True"));
  decideUntilDone(is("True"));
  vi.advanceTimersByTime(20_000);
  decide(is("False"));
  vi.advanceTimersByTime(5000);
  decideUntilDone(is("True"));
  expect(done).toEqual(["written Announced at 0", "written noEndpoints at 20", "written Announced at 30"]);
});

test("changes are written at most every ten seconds, and Events recorded only when the status changes", () => {
  const { decideUntilDone, done } = scenario();
  decideUntilDone(is("True", "Announced", "3 nodes"));
  vi.advanceTimersByTime(1000);
  decideUntilDone(is("True", "Announced", "2 nodes"));
  decideUntilDone(is("False"));
  expect(done).toEqual([
    "written Announced at 0",
    "told Announced at 0",
    "written Announced at 10",
    "written noEndpoints at 20",
    "told noEndpoints at 20",
  ]);
});

test("a Service that gets its address after a long wait has the delay of a new one", () => {
  const { decide, decideUntilDone, done } = scenario();
  decideUntilDone(is("False", "noIPAllocated"));
  vi.advanceTimersByTime(60_000);
  decide(is("False"));
  vi.advanceTimersByTime(1000);
  decideUntilDone(is("True"));
  expect(done.filter((one) => one.startsWith("told"))).toEqual(["told Announced at 73"]);
});

test("a Service that changes its address keeps its condition for a moment", () => {
  const { decide, decideUntilDone, done } = scenario(is("True"));
  decideUntilDone(is("True"));
  vi.advanceTimersByTime(20_000);
  decide(is("False", "noIPAllocated"), true);
  vi.advanceTimersByTime(100);
  decideUntilDone(is("True"));
  expect(done).toEqual(["written Announced at 0"]);
  decideUntilDone(is("False", "noIPAllocated"), true);
  expect(done.slice(1)).toEqual(["written noIPAllocated at 23.1", "told noIPAllocated at 30.1"]);
});

test("a new leader does not repeat Events", () => {
  const { decideUntilDone, done } = scenario(is("False"));
  decideUntilDone(is("False"));
  expect(done).toEqual(["written noEndpoints at 0"]);
});

test("a message that keeps changing is written less and less often, and at once again after a quiet time", () => {
  const { decideUntilDone, done } = scenario();
  for (let nth = 0; nth < 9; nth++) decideUntilDone(is("True", "Announced", `${nth} nodes`));
  vi.advanceTimersByTime(3_600_000);
  decideUntilDone(is("True", "Announced", "calm"));
  vi.advanceTimersByTime(1_000);
  decideUntilDone(is("True", "Announced", "3 nodes"));
  const times = done.filter((one) => one.startsWith("written")).map((one) => Number(one.split(" ").at(-1)));
  expect(times).toEqual([0, 10, 30, 70, 150, 310, 610, 910, 1210, 4810, 4820]);
});

test("a Service that is announced again after many changes of its message is reported in time", () => {
  const { decideUntilDone, done } = scenario();
  for (let nth = 0; nth < 6; nth++) decideUntilDone(is("True", "Announced", `${nth} nodes`));
  vi.advanceTimersByTime(10_000);
  decideUntilDone(is("False", "sessionDown"));
  expect(done.slice(-2)).toEqual(["written sessionDown at 320", "told sessionDown at 330"]);
});
