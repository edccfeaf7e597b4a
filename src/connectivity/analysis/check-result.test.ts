import { expect, test } from "vitest";
import { failureText } from "./labels.ts";
import { type Zones, resultOf } from "./check-result.ts";
import { ago, check, failing, NOW, noZones, reachableCheck } from "../testing/checks.ts";

test("the annotations of a mesh have source, location and target of a check", () => {
  const marks = {
    "plumbline.dev/node": "n1",
    "plumbline.dev/source-node": "n1",
    "plumbline.dev/target": "endpoint/shop/web",
    "plumbline.dev/target-node": "n2",
  };
  const zones: Zones = { ...noZones, zoneOf: (node) => (node === "n1" ? "a" : "b") };
  expect(resultOf(check("n1", "[fd00::0:1]:80", failing("[fd00::1]:80", ago(5)), marks), zones, NOW)).toEqual({
    check: "shop/n1-to--fd00-0-1-80",
    source: { kind: "node", name: "n1", node: "n1", zone: "a" },
    target: { endpoint: "[fd00::1]:80", host: "fd00::1", port: "80", hostType: "IPv6", what: "endpoint/shop/web", node: "n2", zone: "b" },
    verdict: "failed",
    reason: "ConnectError",
    message: "Failed connect to [fd00::1]:80; Connection refused",
    why: "Connection refused",
    since: Date.parse(ago(5)),
  });
});

test("missing annotations are derived from nodes, pods and names of Services", () => {
  const zones: Zones = {
    ...noZones,
    nodeAt: (address) => (address === "192.0.2.7" ? "n7" : undefined),
    nodeOfPod: (pod) => (pod === "shop/kas" ? "n3" : undefined),
  };
  expect(resultOf(check("kas", "192.0.2.7:2379", reachableCheck("192.0.2.7:2379")), zones, NOW)).toMatchObject({
    source: { kind: "pod", name: "shop/kas", node: "n3" },
    target: { what: "host", node: "n7" },
    verdict: "reached",
  });
  expect(resultOf(check("kas", "etcd.openshift-etcd.svc:2379", reachableCheck("x")), zones, NOW).target).toMatchObject({
    hostType: "name",
    what: "service/openshift-etcd/etcd",
  });
});

test("statuses of other checkers are read", () => {
  const status = {
    failures: [
      {
        time: ago(1),
        success: false,
        reason: "TCPConnectError",
        message: "kas-to-etcd: failed to establish a TCP connection to 10.0.0.1:2379: dial tcp 10.0.0.1:2379: connect: no route to host",
      },
    ],
    outages: [{ start: ago(2), end: null, message: "Connectivity outage detected" }],
    conditions: [
      {
        type: "Reachable" as const,
        status: "False" as const,
        reason: "TCPConnectError",
        message: "dial tcp 10.0.0.1:2379: connect: no route to host",
        lastTransitionTime: ago(2),
      },
    ],
  };
  expect(resultOf(check("kas", "10.0.0.1:2379", status), noZones, NOW)).toMatchObject({
    verdict: "failed",
    reason: "ConnectError",
    why: "No route to host",
  });
});

test("a check that is not probed, or never was, has no result", () => {
  const unknown = {
    conditions: [{ type: "Reachable" as const, status: "Unknown" as const, reason: "Stale", message: "gone", lastTransitionTime: ago(9) }],
  };
  expect(resultOf(check("a", "10.0.0.1:80", unknown), noZones, NOW)).toMatchObject({
    verdict: "unknown",
    reason: "Stale",
    message: "gone",
  });
  expect(resultOf(check("a", "10.0.0.1:80", {}), noZones, NOW)).toMatchObject({ verdict: "unknown", reason: "NoResultYet" });
});

const reported = (minutes: number) => resultOf(check("a", "10.0.0.1:80", reachableCheck("10.0.0.1:80", ago(minutes))), noZones, NOW);

test("a result older than half an hour does not count, whatever the condition says", () => {
  expect(reported(29)).toMatchObject({ verdict: "reached" });
  expect(reported(31)).toMatchObject({ verdict: "unknown", reason: "Stale", since: Date.parse(ago(31)) });
});

test("an invalid target is listed", () => {
  expect(resultOf(check("a", "::1:80", {}), noZones, NOW).target).toEqual({
    endpoint: "::1:80",
    host: "::1:80",
    port: "",
    hostType: "name",
    what: "host",
  });
});

test.each([
  ["Failed connect to 10.0.0.1:80; No route to host", "No route to host"],
  ["Failed connect to web:80; Connection refused (10.0.0.1) (the clock stepped back)", "Connection refused"],
  ["Failed to resolve web; no such name", "No such name"],
  ["dial tcp 10.0.0.1:80: i/o timeout", "I/o timeout"],
  ["", ""],
])("the cause of message %j is %j", (message, why) => {
  expect(failureText(message)).toBe(why);
});
