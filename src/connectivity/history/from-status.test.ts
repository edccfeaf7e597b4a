import { expect, test } from "vitest";
import { fromStatus, restoreHistory } from "./from-status.ts";
import { lastResultTime } from "./reduce.ts";
import type { Action, Attempt } from "./attempt.ts";
import { action, attemptAfter, at, failed, attemptToAddress, namedOk, ok } from "../testing/attempts.ts";
import { type CheckStatus, statusOf } from "./status.ts";
import { check } from "../testing/mesh.ts";

const NOW = 1_000_000;
const wrong = (status: "True" | "False") => [{ type: "Reachable", status, reason: "Wrong", message: "", lastTransitionTime: at(99) }];
const reread = (status: CheckStatus) => statusOf(fromStatus(status, NOW));

test("a check without a status has no result yet", () => {
  for (const status of [undefined, {}, { successes: [], failures: [], outages: [], conditions: [] }]) {
    expect(statusOf(fromStatus(status, NOW))).toEqual({
      conditions: [{ type: "Reachable", status: "Unknown", reason: "NoResultYet", message: "No result yet", lastTransitionTime: at(1000) }],
    });
  }
});

test("a status of OpenShift's checker is read with its names for reasons and latency", () => {
  const theirs = {
    successes: [{ time: at(60), success: true, reason: "TCPConnect", message: "b", latency: null }],
    failures: [
      { time: at(30), success: false, reason: "TCPConnectError", message: "a", latency: "1.5s" },
      { time: at(20), success: false, reason: "DNSError", message: "d", latency: "12.5µs" },
      { time: null, success: false, reason: "TCPConnectError", message: "", latency: null },
    ],
    outages: [
      { start: at(20), end: at(60), message: "restored" },
      { start: null, end: null },
    ],
    conditions: [{ type: "Reachable", status: "True" as const, reason: "TCPConnectSuccess", message: "b", lastTransitionTime: at(61) }],
  };
  expect(reread(theirs)).toEqual({
    successes: [{ time: at(60), success: true, reason: "ConnectDone", message: "b" }],
    failures: [
      { time: at(30), success: false, reason: "ConnectError", message: "a", latency: "1.5s" },
      { time: at(20), success: false, reason: "DNSError", message: "d", latency: "12.5µs" },
    ],
    outages: [{ start: at(20), end: at(60), message: "restored" }],
    conditions: [{ type: "Reachable", status: "True", reason: "ConnectDone", message: "b", lastTransitionTime: at(61) }],
  });
});

test("the documented field for latency is read", () => {
  const line = { time: at(60), success: true, reason: "ConnectDone", message: "b", duration: "200ms" };
  expect(reread({ successes: [line] }).successes).toMatchObject([{ latency: "200ms" }]);
});

test("the success of a line counts more than its reason", () => {
  const line = { time: at(60), success: false, reason: "DNSDone" };
  expect(reread({ failures: [line, { time: at(50), success: false, reason: "Whatever" }] }).failures).toEqual([
    { time: at(60), success: false, reason: "DNSError", message: "" },
    { time: at(50), success: false, reason: "ConnectError", message: "" },
  ]);
});

test("a condition that contradicts the outages is recomputed", () => {
  const { conditions: fine, ...lists } = statusOf(attemptAfter([ok(10), failed(20), ok(30)]));
  expect(reread({ ...lists, conditions: wrong("False") }).conditions).toEqual(fine);
  expect(reread(lists).conditions).toEqual(fine);

  const { conditions: broken, ...others } = statusOf(attemptAfter([ok(10), failed(20), failed(30)]));
  expect(reread({ ...others, conditions: wrong("True") }).conditions).toEqual(broken);
  expect(reread(others).conditions).toEqual(broken);
});

test("a check that was stale is reachable since its next result", () => {
  const stale = [{ type: "Reachable", status: "Unknown" as const, reason: "Stale", message: "old", lastTransitionTime: at(500) }];
  const history = fromStatus({ ...statusOf(attemptAfter([ok(10)])), conditions: stale }, NOW);
  expect(statusOf(history).conditions).toEqual(stale);
  expect(statusOf(attemptAfter([ok(900)], history)).conditions).toMatchObject([{ status: "True", lastTransitionTime: at(900) }]);
});

test("only the newest outage can be open", () => {
  const open = { outages: [{ start: at(50) }, { start: at(20), endedAfter: at(30) }, { start: at(10) }, { start: at(5), end: at(1) }] };
  expect(reread(open).outages).toMatchObject([{ start: at(50) }, { end: at(30) }, { end: at(10) }, { end: at(5) }]);
  expect(statusOf(attemptAfter([ok(60)], fromStatus(open, NOW))).outages?.every(({ end }) => typeof end === "string")).toBe(true);
});

test("longer lists than ours are cut", () => {
  const long = Array.from({ length: 30 }, (_, index) => ({ time: at(100 - index), success: true, reason: "ConnectDone" }));
  expect(reread({ successes: long }).successes).toHaveLength(20);
});

test("the newest result is restored", () => {
  expect(lastResultTime(fromStatus(statusOf(attemptAfter([ok(10), failed(20)])), NOW))).toBe(20_000);
  expect(lastResultTime(fromStatus({}, NOW))).toBeUndefined();
});

test.each([
  ["of the last connection", [ok(10), failed(20)], "10.0.134.23:2379"],
  ["of a name", [namedOk(10)], "etcd.svc:2379"],
  ["of a name that was resolved before", [namedOk(10), attemptToAddress(20)], "etcd.svc:2379"],
  ["of a name that was never resolved", [ok(10), attemptToAddress(20)], undefined],
  ["of nothing", [], undefined],
])("the target is that %s", (_, attempts, target) => {
  expect(fromStatus(statusOf(attemptAfter(attempts)), NOW).past.target).toBe(target);
});

test("statuses of other checkers have no target", () => {
  const line = { time: at(60), success: true, reason: "TCPConnect", message: "web: tcp connection to 10.0.0.1:80 succeeded" };
  expect(fromStatus({ successes: [line] }, NOW).past.target).toBeUndefined();
});

const published = (...attempts: Parameters<typeof attemptAfter>[0]) => check("c", { status: statusOf(attemptAfter(attempts)) });

test("the journal or the API wins, whichever has the later result", () => {
  const memory = attemptAfter([ok(0), failed(60)]);
  expect(restoreHistory(memory, published(ok(0)), 70_000)).toEqual({ history: memory, isPublished: false, isNews: true });
  expect(restoreHistory(attemptAfter([ok(0)]), published(ok(0), failed(60)), 70_000)).toMatchObject({ isPublished: true, isNews: false });
  expect(restoreHistory(undefined, published(ok(0)), 70_000)).toMatchObject({ isPublished: true, isNews: false });
});

test("of two results in one second the journal has both, and the API may have the first", () => {
  const memory = attemptAfter([ok(0), failed(0, "No route to host", { seq: 2, at: 400 })]);
  expect(restoreHistory(memory, published(ok(0)), 70_000)).toEqual({ history: memory, isPublished: false, isNews: true });
});

const url = "https://etcd.svc:2379/health";
const answered = (second: number, outcome: Action["outcome"], message: string): Attempt => {
  const probed = action(outcome, second + 1, message);
  const resolved = action("DNSDone", second, "etcd.svc resolved to 10.0.140.67");
  return { seq: second, at: second * 1000, target: url, actions: [resolved, probed], reachable: outcome === "HTTPDone" };
};

test.each<[Action["outcome"], string]>([
  ["HTTPDone", `HTTP 200 from ${url}`],
  ["ConnectError", `Failed connect to ${url}; Connection refused`],
  ["TLSError", `Failed TLS with ${url}; the certificate has expired`],
  ["HTTPError", `Failed request to ${url}; no complete answer in time`],
  ["UnexpectedStatus", `Unexpected answer of ${url}; status 503, expected 200`],
  ["BodyMismatch", `Unexpected answer of ${url}; the body does not contain the expected text`],
])("the target, reason and outages of a request that ends with %s are restored", (outcome, message) => {
  const status = statusOf(attemptAfter([answered(10, "HTTPDone", `HTTP 200 from ${url}`), answered(70, outcome, message)]));
  expect(status.conditions).toMatchObject([{ status: outcome === "HTTPDone" ? "True" : "False", reason: outcome, message }]);
  expect(status.outages?.length ?? 0).toBe(outcome === "HTTPDone" ? 0 : 1);
  expect(fromStatus(status, NOW).past.target).toBe(url);
  expect(statusOf(fromStatus(status, NOW))).toEqual(status);
});

test.each(["192.0.2.7:80 from router", "192.0.2.7:80 from router VRF red"])("the target %s is restored", (target) => {
  const attempt = (outcome: "ConnectDone" | "ConnectError", message: string): Attempt => {
    return { seq: 1, at: 10_000, target, actions: [action(outcome, 10, message)], reachable: outcome === "ConnectDone" };
  };
  const messages = [`Connected to ${target}`, `Connected to ${target} (VRF blue)`];
  for (const message of messages)
    expect(fromStatus(statusOf(attemptAfter([attempt("ConnectDone", message)])), NOW).past.target).toBe(target);
  const failed = attempt("ConnectError", `Failed connect to ${target}; Connection timed out (VRF blue)`);
  expect(fromStatus(statusOf(attemptAfter([failed])), NOW).past.target).toBe(target);
});

test("the target of a request whose name was not resolved is the one before", () => {
  const lost = { ...answered(70, "DNSError", ""), actions: [action("DNSError", 70, "Failed to resolve etcd.svc; no such name")] };
  expect(fromStatus(statusOf(attemptAfter([answered(10, "HTTPDone", `HTTP 200 from ${url}`), lost])), NOW).past.target).toBe(url);
});
