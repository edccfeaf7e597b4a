import { expect, test } from "vitest";
import type { Attempt } from "./attempt.ts";
import { fromStatus } from "./from-status.ts";
import { lastResultTime } from "./reduce.ts";
import { action, attemptAfter, at, failed, ok, short } from "../testing/attempts.ts";
import { statusOf } from "./status.ts";

/** The n-th attempt, while the clock says so many seconds. */
const then = (make: (second: number, overrides: Partial<Attempt>) => Attempt, seconds: readonly number[]) =>
  seconds.map((second, index) => make(second, { seq: index + 1 }));
const successes = (attempts: readonly Attempt[]) => statusOf(attemptAfter(attempts)).successes ?? [];
const steppedBack = (attempts: readonly Attempt[]) => successes(attempts).map(({ message }) => message?.includes("stepped back"));

test("a small step back of the clock does not set the shown time back", () => {
  const attempts = then(ok, [600, 500, 510, 610]);
  expect(successes(attempts).map(short)).toEqual(["C610", "C600", "C600", "C600"]);
  expect(successes(attempts).map(({ message }) => message)).toEqual([
    "Connected to 10.0.134.23:2379",
    "Connected to 10.0.134.23:2379",
    "Connected to 10.0.134.23:2379 (the clock stepped back)",
    "Connected to 10.0.134.23:2379",
  ]);
});

test("a clock that was far ahead is used again after its correction", () => {
  const attempts = then(ok, [600, 4200, 660, 720]);
  expect(successes(attempts).map(short)).toEqual(["C720", "C660", "C4200", "C600"]);
  expect(steppedBack(attempts)).toEqual([false, true, false, false]);
});

test("a clock correction of two seconds is not logged", () => {
  expect(steppedBack(then(ok, [600, 598]))).toEqual([false, false]);
  expect(steppedBack(then(ok, [600, 597]))).toEqual([true, false]);
});

test("an attempt that outlasts the start of the next one is no clock step", () => {
  const slow = ok(600, {
    actions: [action("DNSDone", 600, "x resolved to y"), action("ConnectDone", 604, "Connection to x:1 established.")],
  });
  expect(steppedBack([slow, ok(601)])).toEqual([false, false, false]);
  expect(successes([slow, ok(601)]).map(short)).toEqual(["C604", "C604", "D600"]);
});

test("only the first line after a clock step mentions it, within the length limit", () => {
  const long = ok(500, { seq: 700, actions: ["x".repeat(600), "second"].map((text) => action("ConnectDone", 500, text)) });
  const [second, first] = successes([ok(600), long]);
  expect(second?.message).toBe("second");
  expect(first?.message).toHaveLength(512);
  expect(first?.message).toMatch(/x\.\.\. \(the clock stepped back\)$/);
});

test("a clock step is not a new failure", () => {
  const [first, second] = [failed(600), failed(500, "No route to host", { seq: 700 })];
  expect(statusOf(attemptAfter([first, second])).outages?.[0]?.startLogs).toHaveLength(1);
});

test("an outage is closed with an end that is not before its start", () => {
  const history = attemptAfter([failed(4200, "x", { seq: 1 }), ok(600, { seq: 2 })]);
  expect(statusOf(history).outages).toMatchObject([{ start: at(4200), end: at(4200), message: "Connectivity restored after 0s" }]);
  expect(statusOf(history).conditions).toMatchObject([{ status: "True", lastTransitionTime: at(600) }]);
});

test("a success with a time in the future does not bound a later outage", () => {
  const [outage] = statusOf(attemptAfter([ok(4200, { seq: 1 }), failed(600, "x", { seq: 2 })])).outages ?? [];
  expect(outage).toMatchObject({ start: at(600) });
  expect(outage).not.toHaveProperty("startedAfter");
});

test("a status from the future does not block later results", () => {
  const future = statusOf(attemptAfter([ok(100_000)]));
  const history = fromStatus(future, 600_000);
  expect(lastResultTime(history)).toBeUndefined();
  expect(statusOf(attemptAfter([failed(600, "x", { seq: 1 })], history))).toMatchObject({
    successes: [{ time: at(100_000) }],
    failures: [{ time: at(600) }],
    outages: [{ start: at(600) }],
  });
});
