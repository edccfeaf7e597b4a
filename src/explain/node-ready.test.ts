import { expect, test } from "vitest";
import { Node } from "../api/core/node.ts";
import { CauseGraph } from "./graph.ts";
import { nodeReady } from "./node-ready.ts";

function statements(conditions?: NonNullable<Node["status"]>["conditions"]) {
  const graph = new CauseGraph([nodeReady]);
  graph.put(Node, { metadata: { name: "n1" }, spec: {}, ...(conditions && { status: { conditions } }) } as Node);
  return { health: graph.verdict("Node/n1")?.health, causes: graph.causes() };
}

test("a node whose kubelet is not ready is to blame, with the kubelet's words", () => {
  const kubelet = { reason: "KubeletNotReady", message: "PLEG is not healthy", lastTransitionTime: "2026-01-01T00:00:00Z" };
  expect(statements([{ type: "Ready", status: "False", ...kubelet }])).toMatchObject({
    health: "Down",
    causes: [{ id: "Node/n1", reason: "KubeletNotReady", message: "PLEG is not healthy", since: "2026-01-01T00:00:00Z" }],
  });
  expect(statements([{ type: "Ready", status: "Unknown" }])).toMatchObject({ health: "Unknown" });
});

test("a node that is ready, or has no kubelet, is well", () => {
  expect(statements([{ type: "Ready", status: "True" }])).toEqual({ health: "Healthy", causes: [] });
  expect(statements()).toEqual({ health: "Healthy", causes: [] });
});
