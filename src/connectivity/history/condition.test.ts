import { expect, test } from "vitest";
import type { Attempt } from "./attempt.ts";
import { emptyHistory, nextSeq } from "./history.ts";
import { transitionBetween, markUnknown, lastResultTime } from "./reduce.ts";
import { action, attemptAfter, at, failed, attemptToAddress, namedFailed, namedOk, ok } from "../testing/attempts.ts";
import { statusOf } from "./status.ts";

const reachable = (attempts: readonly Attempt[]) => statusOf(attemptAfter(attempts, emptyHistory(7_000))).conditions?.[0];
const retired = { reason: "Retired", message: "No mesh asks for this check any more" };

test.each<[string, readonly Attempt[], readonly [status: string, reason: string, message: string, second: number]]>([
  ["is Unknown before the first result", [], ["Unknown", "NoResultYet", "No result yet", 7]],
  ["changes with the first success", [ok(10), ok(20)], ["True", "ConnectDone", "Connected to 10.0.134.23:2379", 10]],
  ["changes with the connection, not the lookup", [namedOk(10)], ["True", "ConnectDone", "Connection to etcd.svc:2379 established.", 11]],
  [
    "is False since the start of the outage, with the newest failure",
    [ok(10), failed(20), failed(30, "Connection refused")],
    ["False", "ConnectError", "Failed connect to 10.0.134.23:2379; Connection refused", 20],
  ],
  ["reports a failed lookup", [attemptToAddress(20)], ["False", "DNSError", "Failed to resolve etcd.svc; no such name", 20]],
  [
    "reports a failed connection, not the lookup before it",
    [namedFailed(20)],
    ["False", "ConnectError", "Failed connect to etcd.svc:2379; Connection refused", 21],
  ],
  [
    "is True since the end of the outage",
    [ok(10), failed(20), ok(30), ok(40)],
    ["True", "ConnectDone", "Connected to 10.0.134.23:2379", 30],
  ],
  [
    "reports an address that fails beside one that answers",
    [
      namedOk(10, {
        actions: [
          action("DNSDone", 10, "etcd.svc resolved to 10.0.0.1, 10.0.0.2"),
          action("ConnectDone", 10, "Connection to etcd.svc:2379 established. (10.0.0.1)"),
          action("ConnectError", 10, "Failed connect to etcd.svc:2379; Connection refused (10.0.0.2)"),
        ],
      }),
    ],
    ["True", "ConnectDone", "1 of 2 addresses failed: Failed connect to etcd.svc:2379; Connection refused (10.0.0.2)", 10],
  ],
])("%s", (_title, attempts, [status, reason, message, second]) => {
  expect(reachable(attempts)).toEqual({ type: "Reachable", status, reason, message, lastTransitionTime: at(second) });
});

test("the condition has its observedGeneration", () => {
  expect(statusOf(attemptAfter([ok(1)]), 4).conditions?.[0]).toMatchObject({ observedGeneration: 4 });
});

test("Unknown changes the condition once, keeps the log, and ends with the next result", () => {
  const history = markUnknown(attemptAfter([ok(10), failed(20)]), { ...retired, at: 60_400 });
  expect(statusOf(history).conditions).toEqual([{ type: "Reachable", status: "Unknown", ...retired, lastTransitionTime: at(60) }]);
  expect(statusOf(history)).toMatchObject({ successes: [{ time: at(10) }], failures: [{ time: at(20) }], outages: [{ start: at(20) }] });
  expect(markUnknown(history, { ...retired, at: 90_000 })).toBe(history);
  const forbidden = markUnknown(history, { reason: "TargetRefused", message: "no", at: 90_000 });
  expect(statusOf(forbidden).conditions).toMatchObject([{ reason: "TargetRefused", lastTransitionTime: at(60) }]);

  const again = statusOf(attemptAfter([failed(100)], history));
  expect(again.conditions).toMatchObject([{ status: "False", lastTransitionTime: at(100) }]);
  expect(again.outages).toMatchObject([{ start: at(20) }]);
  const fine = statusOf(attemptAfter([ok(100)], history));
  expect(fine.conditions).toMatchObject([{ status: "True", lastTransitionTime: at(100) }]);
  expect(fine.outages).toMatchObject([{ start: at(20), end: at(100) }]);
});

test("sequence numbers and the time of the newest result continue", () => {
  expect([nextSeq(emptyHistory(0)), lastResultTime(emptyHistory(0))]).toEqual([1, undefined]);
  const history = attemptAfter([ok(10), ok(20)]);
  expect([nextSeq(history), lastResultTime(history)]).toEqual([22, 20_000]);
  const doubted = markUnknown(history, { ...retired, at: 60_000 });
  expect([nextSeq(doubted), lastResultTime(doubted)]).toEqual([22, 20_000]);
});

const other = { target: "10.0.0.9:1" };

test.each<[string | undefined, string, readonly Attempt[], readonly Attempt[]]>([
  ["first", "the first success", [], [ok(0)]],
  ["opened", "the first result, when it is a failure", [], [failed(0)]],
  ["opened", "a failure after a success", [ok(0)], [failed(1)]],
  ["opened", "an outage after another", [failed(0), ok(1)], [failed(2)]],
  ["opened", "an outage that ended and another that began", [failed(0)], [ok(1), failed(2)]],
  ["opened", "an outage in the same second as the one before", [failed(0), ok(0, { seq: 2 })], [failed(0, "x", { seq: 3 })]],
  ["closed", "a success after a failure", [failed(0)], [ok(1)]],
  ["closed", "an outage that came and went", [ok(0)], [failed(1), ok(2)]],
  ["closed", "another target that answers, in an outage", [failed(0)], [ok(1, other)]],
  ["opened", "another target that does not answer either", [failed(0)], [failed(1, "No route to host", other)]],
  ["changed", "another target", [ok(0)], [ok(1, other)]],
  ["changed", "another way to fail", [failed(0)], [failed(1, "Connection refused")]],
  [undefined, "a way to fail that was there before", [failed(0), failed(1, "Connection refused")], [failed(2)]],
  [undefined, "one more success", [ok(0)], [ok(1)]],
  [undefined, "one more failure", [failed(0)], [failed(1)]],
  [undefined, "a fault", [ok(0)], [failed(1, "x", { fault: "EMFILE" })]],
])("transition %s: %s", (news, _title, before, then) => {
  const history = attemptAfter(before);
  expect(transitionBetween(history, attemptAfter(then, history))).toBe(news);
});

test("a new Unknown reason is a transition", () => {
  const history = attemptAfter([ok(0)]);
  const doubted = markUnknown(history, { ...retired, at: 1_000 });
  expect(transitionBetween(history, doubted)).toBe("changed");
  expect(transitionBetween(doubted, markUnknown(doubted, { reason: "TargetRefused", message: "no", at: 2_000 }))).toBe("changed");
  expect(transitionBetween(doubted, attemptAfter([ok(3)], doubted))).toBe("changed");
});
