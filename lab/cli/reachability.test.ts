import { expect, test } from "vitest";
import type { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { reachabilityLines } from "./reachability.ts";

const NOW = Date.parse("2026-11-16T10:00:30Z");
const THEN = "2026-11-16T10:00:00Z";

const check = (source: string, target: string, status?: "True" | "False" | "Unknown"): PodNetworkConnectivityCheck => {
  const success = status === "True";
  const entry = {
    time: THEN,
    success,
    reason: success ? "ConnectDone" : "ConnectError",
    message: `Failed connect to ${target}:80; No route to host`,
  };
  const condition = {
    type: "Reachable",
    status: status ?? "Unknown",
    reason: entry.reason,
    message: entry.message,
    lastTransitionTime: THEN,
  };
  return {
    metadata: { name: `${source}-to-${target}`, namespace: "plumbline-system", annotations: { "plumbline.dev/node": source } },
    spec: { sourcePod: source, targetEndpoint: `${target}:80` },
    ...(status !== undefined && {
      status: {
        outages: status === "False" ? [{ start: THEN, startLogs: [entry] }] : [],
        [success ? "successes" : "failures"]: [entry],
        conditions: [condition],
      },
    }),
  };
};

test("a lab whose nodes reach everything has one line, and one without checks none", () => {
  expect(reachabilityLines([check("node1", "10.0.0.2", "True"), check("node2", "10.0.0.1", "True")], NOW)).toEqual([
    "Connectivity: 2 of 2 reachable",
  ]);
  expect(reachabilityLines([], NOW)).toEqual([]);
});

test("outages are counted, and their common causes are listed below", () => {
  const checks = [
    check("node1", "10.0.0.9", "False"),
    check("node2", "10.0.0.9", "False"),
    check("node1", "10.0.0.8", "True"),
    check("node2", "10.0.0.8", "True"),
    check("node3", "10.0.0.8"),
  ];
  expect(reachabilityLines(checks, NOW)).toEqual([
    "Connectivity: 2 of 5 reachable, 2 outages, 1 unknown",
    expect.stringMatching(/^ {2}10\.0\.0\.9:80 is unreachable: both checks fail.*No route to host/) as string,
  ]);
});
