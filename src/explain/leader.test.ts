import { expect, test } from "vitest";
import { Lease } from "../api/core/lease.ts";
import { CauseGraph } from "./graph.ts";
import { leaderExplainer } from "./leader.ts";

const NOW = Date.parse("2026-01-01T00:10:00Z");

function causesWith(spec: Lease["spec"], name = "plumbline-controller"): string[] {
  const graph = new CauseGraph([leaderExplainer(NOW)]);
  const lease: Lease = { metadata: { name, namespace: "plumbline-system" }, spec };
  graph.put(Lease, lease);
  return graph.causes().map(({ id, message }) => `${id}: ${message}`);
}

test("a controller that renews its Lease is healthy", () => {
  expect(causesWith({ holderIdentity: "a", renewTime: "2026-01-01T00:09:50.000000Z" })).toEqual([]);
});

test("a controller that stops renewing its Lease is a cause", () => {
  expect(causesWith({ holderIdentity: "a", renewTime: "2026-01-01T00:08:00.000000Z" })).toEqual([
    "Controller/plumbline: No controller is leading: a has stopped renewing its Lease",
  ]);
});

test("a released Lease without a new leader is a cause", () => {
  expect(causesWith({ holderIdentity: "", renewTime: "2026-01-01T00:09:59.000000Z" })).toEqual([
    "Controller/plumbline: No controller is leading: the last leader has stopped",
  ]);
});

test("other Leases are ignored", () => {
  expect(causesWith({ holderIdentity: "a", renewTime: "2025-01-01T00:00:00.000000Z" }, "agent-n1")).toEqual([]);
});
