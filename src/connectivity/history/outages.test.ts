import { expect, test } from "vitest";
import type { Attempt } from "./attempt.ts";
import { emptyHistory, type CheckHistory } from "./history.ts";
import { fromStatus } from "./from-status.ts";
import { action, attemptAfter, at, failed, namedFailed, namedOk, ok, short } from "../testing/attempts.ts";
import { type CheckStatus, statusOf } from "./status.ts";

function outages(history: CheckHistory): string[] {
  return (statusOf(history).outages ?? []).map(({ start, end, startLogs = [], endLogs = [] }) => {
    const to = typeof end === "string" ? Date.parse(end) / 1000 : "";
    return `${Date.parse(start ?? "") / 1000}-${to} [${startLogs.map(short).join(" ")}] [${endLogs.map(short).join(" ")}]`;
  });
}

const NOW = 100_000;
const closed = (start: number, end: number) => ({ start: at(start), end: at(end) });
const open = (start: number) => ({ start: at(start) });
const line = (second: number, why: string) => ({
  time: at(second),
  success: false,
  reason: "ConnectError",
  message: `Failed connect to 10.0.134.23:2379; ${why}`,
});
const crowded: CheckStatus = {
  outages: [
    {
      start: at(0),
      startLogs: [4, 3, 2, 1, 0].map((second) => line(second, `way ${second}`)),
      endLogs: [4, 3, 2, 1, 0].map((second) => line(second, `way ${second}`)),
    },
  ],
};

test.each<[string, CheckStatus, readonly Attempt[], readonly string[]]>([
  ["none without a result", {}, [], []],
  ["none without a failure", {}, [ok(1)], []],
  ["one failure opens one", {}, [failed(1)], ["1- [c1] [c1]"]],
  ["an open one stays open without a result", { outages: [open(0)] }, [], ["0- [] []"]],
  ["a closed one stays closed without a result", { outages: [closed(0, 1)] }, [], ["0-1 [] []"]],
  ["a failure after successes opens one", {}, [ok(0), ok(1), ok(2), failed(3)], ["3- [c3] [c3]"]],
  ["one success closes it", {}, [failed(3), ok(4)], ["3-4 [c3] [C4 c3]"]],
  ["a success closes one without lines", { outages: [open(3)] }, [ok(4)], ["3-4 [] [C4]"]],
  ["the newest one comes first", { outages: [closed(0, 1)] }, [ok(2), ok(3), ok(4), failed(5)], ["5- [c5] [c5]", "0-1 [] []"]],
  ["a repeated failure is listed in endLogs only", {}, [failed(5), failed(6)], ["5- [c5] [c6 c5]"]],
  ["a new kind of failure is listed in startLogs too", {}, [failed(5), failed(6, "Connection refused")], ["5- [c6 c5] [c6 c5]"]],
  [
    "an earlier kind of failure is not listed again",
    {},
    [failed(5), failed(6, "Connection refused"), failed(7), failed(8, "Connection refused")],
    ["5- [c6 c5] [c8 c7 c6 c5]"],
  ],
  ["a success closes only the newest", { outages: [open(5), closed(0, 1)] }, [ok(6)], ["5-6 [] [C6]", "0-1 [] []"]],
  ["a sixth kind of failure is listed in endLogs only", crowded, [failed(5, "way 5")], ["0- [c4 c3 c2 c1 c0] [c5 c4 c3 c2 c1]"]],
  ["a success is the newest of five lines in endLogs", crowded, [ok(5)], ["0-5 [c4 c3 c2 c1 c0] [C5 c4 c3 c2 c1]"]],
  [
    "the oldest of 21 is dropped",
    { outages: Array.from({ length: 20 }, (_, index) => closed(40 - 2 * index, 41 - 2 * index)) },
    [failed(50)],
    ["50- [c50] [c50]", ...Array.from({ length: 19 }, (_, index) => `${40 - 2 * index}-${41 - 2 * index} [] []`)],
  ],
  ["a lookup that succeeds does not end one", {}, [namedOk(0), namedFailed(2), namedFailed(4)], ["3- [c3] [c5 c3]"]],
  ["a name ends it with its connection", {}, [namedFailed(2), namedOk(4)], ["3-5 [c3] [C5 c3]"]],
])("%s", (_title, status, attempts, expected) => {
  expect(outages(attemptAfter(attempts, fromStatus(status, NOW)))).toEqual(expected);
});

test("a late success is inserted in order and adds no duplicate line", () => {
  const inOrder = attemptAfter([ok(0), ok(1), failed(2), failed(3)]);
  const late = attemptAfter([ok(0), failed(2), failed(3), ok(1)]);
  expect(outages(late)).toEqual(["2- [c2] [c3 c2]"]);
  expect(statusOf(late)).toEqual(statusOf(inOrder));
});

test("messages are derived from the displayed times", () => {
  const history = attemptAfter([ok(0), failed(60.4, "x", { seq: 61 }), ok(240.1, { seq: 62 })]);
  expect(statusOf(history).outages?.[0]?.message).toBe("Connectivity restored after 3m0s");
  expect(statusOf(attemptAfter([failed(60)])).outages?.[0]?.message).toBe("Connectivity outage detected at 1970-01-01T00:01:00Z");
});

test("the bounds of an outage are the results around its start and end", () => {
  const [outage] = statusOf(attemptAfter([ok(0), ok(60), failed(120), failed(180), ok(240)])).outages ?? [];
  expect(outage).toMatchObject({ startedAfter: at(60), start: at(120), endedAfter: at(180), end: at(240) });
  const [first] = statusOf(attemptAfter([failed(120)])).outages ?? [];
  expect(first).not.toHaveProperty("startedAfter");
});

test("a time without probes is listed, during the outage and afterwards", () => {
  const gap = "; not tried from 1970-01-01T00:01:00Z to 1970-01-01T01:00:00Z";
  const history = attemptAfter([failed(0), failed(60), failed(3600)]);
  expect(statusOf(history).outages?.[0]?.message).toBe(`Connectivity outage detected at 1970-01-01T00:00:00Z${gap}`);
  const over = attemptAfter([ok(7200)], history);
  const second = "; not tried from 1970-01-01T01:00:00Z to 1970-01-01T02:00:00Z";
  expect(statusOf(over).outages?.[0]?.message).toBe(`Connectivity restored after 2h0m0s${gap}${second}`);
});

test("outages of other checkers also have the time of the last probe", () => {
  const theirs = { outages: [{ start: at(0), endLogs: [line(3600, "x"), line(3540, "x")], message: "detected" }] };
  expect(statusOf(attemptAfter([ok(3660)], fromStatus(theirs, 3_660_000))).outages?.[0]?.message).toBe(
    "Connectivity restored after 1h1m0s",
  );
});

test("three intervals without an attempt are no gap", () => {
  expect(statusOf(attemptAfter([failed(0), ok(180)])).outages?.[0]?.message).toBe("Connectivity restored after 3m0s");
});

test("a source fault counts as a time without probes", () => {
  const faulty = [60, 120, 180, 240].map((second) => failed(second, "x", { fault: "EMFILE" }));
  const history = attemptAfter([failed(0), ...faulty, ok(300)]);
  expect(statusOf(history).outages?.[0]?.message).toBe(
    "Connectivity restored after 5m0s; not tried from 1970-01-01T00:00:00Z to 1970-01-01T00:05:00Z",
  );
});

test("many gaps do not make a message longer than the limit", () => {
  const history = attemptAfter(Array.from({ length: 50 }, (_, index) => failed(3600 * index)));
  expect(statusOf(history).outages?.[0]?.message?.match(/not tried/g)).toHaveLength(3);
});

test("a new target ends the outage of the old one", () => {
  const moved = { target: "10.0.0.9:1" };
  const history = attemptAfter([ok(0), failed(60), ok(180, moved)]);
  const [outage, ...others] = statusOf(history).outages ?? [];
  expect(others).toEqual([]);
  expect(outage).toMatchObject({
    end: at(180),
    message: "Connectivity outage ended after 2m0s; the target was changed to 10.0.0.9:1",
    endLogs: [{ time: at(60) }],
  });
});

test("a new target that fails has its own outage, without an earlier success", () => {
  const moved = { target: "10.0.0.9:1" };
  const { outages = [], conditions = [] } = statusOf(attemptAfter([ok(0), failed(60), failed(120, "No route to host", moved)]));
  expect(outages).toHaveLength(2);
  expect(outages[0]).not.toHaveProperty("startedAfter");
  expect(outages).toMatchObject([{ start: at(120) }, { start: at(60), end: at(120) }]);
  expect(conditions[0]).toMatchObject({ status: "False", lastTransitionTime: at(60) });
});

test("one failing address of two is no outage, and both failing are one", () => {
  const firstFailed = action("ConnectError", 0, "Failed connect to etcd.svc:2379; Connection refused (10.0.0.1)");
  const secondFailed = action("ConnectError", 0, "Failed connect to etcd.svc:2379; Connection refused (10.0.0.2)");
  const fine = action("ConnectDone", 0, "Connection to etcd.svc:2379 established. (10.0.0.2)");
  expect(outages(attemptAfter([namedOk(0, { actions: [firstFailed, fine] })]))).toEqual([]);
  expect(outages(attemptAfter([namedFailed(0, { actions: [firstFailed, secondFailed] })]))).toEqual(["0- [c0] [c0 c0]"]);
});

test("the first of several failing addresses starts an outage, and the last one is its latest failure", () => {
  const [firstFailed, late] = [
    action("ConnectError", 10, "Failed connect to etcd.svc:2379; Connection refused (10.0.0.1)"),
    action("ConnectError", 15, "Failed connect to etcd.svc:2379; Connection timed out (10.0.0.2)"),
  ];
  const { outages, conditions } = statusOf(attemptAfter([namedFailed(10, { actions: [firstFailed, late] })]));
  expect(outages).toMatchObject([{ start: at(10), endedAfter: at(15), startLogs: [{ time: at(15) }, { time: at(10) }] }]);
  expect(conditions).toMatchObject([{ message: late.message, lastTransitionTime: at(10) }]);
});

test("an attempt without a single action still counts", () => {
  const nothing = { actions: [] };
  expect(outages(attemptAfter([failed(1, "", nothing)]))).toEqual(["1- [] []"]);
  expect(outages(attemptAfter([failed(1, "", nothing), ok(2, nothing)], emptyHistory(0)))).toEqual(["1-2 [] []"]);
});

test("a source with a longer interval than a minute counts as running all the time", () => {
  const rarely = { everyMs: 600_000 };
  const tries = [failed(0, "x", rarely), failed(600, "x", rarely), failed(1700, "x", rarely)];
  expect(statusOf(attemptAfter(tries)).outages?.[0]?.message).toBe("Connectivity outage detected at 1970-01-01T00:00:00Z");
  expect(statusOf(attemptAfter([...tries, failed(3600, "x", rarely)])).outages?.[0]?.message).toMatch(
    /; not tried from .*:28:20Z to .*:00:00Z$/,
  );
});
