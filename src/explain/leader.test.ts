import { expect, test } from "vitest";
import { Lease } from "../api/core/lease.ts";
import { CauseGraph } from "./graph.ts";
import { leaderExplainer, nodeReady } from "./leader.ts";
import { Node } from "../api/core/node.ts";

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

function statements(conditions?: NonNullable<Node["status"]>["conditions"]) {
  const graph = new CauseGraph([nodeReady]);
  graph.put(Node, { metadata: { name: "n1" }, spec: {}, ...(conditions && { status: { conditions } }) } as Node);
  return { health: graph.verdict("Node/n1")?.health, causes: graph.causes() };
}

test("a node whose kubelet is not ready is the cause, with the kubelet's message", () => {
  const kubelet = { reason: "KubeletNotReady", message: "PLEG is not healthy", lastTransitionTime: "2026-01-01T00:00:00Z" };
  expect(statements([{ type: "Ready", status: "False", ...kubelet }])).toMatchObject({
    health: "Down",
    causes: [{ id: "Node/n1", reason: "KubeletNotReady", message: "PLEG is not healthy", since: "2026-01-01T00:00:00Z" }],
  });
  expect(statements([{ type: "Ready", status: "Unknown" }])).toMatchObject({ health: "Unknown" });
});

test("a node that is ready, or has no kubelet, is healthy", () => {
  expect(statements([{ type: "Ready", status: "True" }])).toEqual({ health: "Healthy", causes: [] });
  expect(statements()).toEqual({ health: "Healthy", causes: [] });
});
