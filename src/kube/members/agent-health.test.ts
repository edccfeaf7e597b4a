import { expect, test } from "vitest";
import { Lease } from "../../api/core/lease.ts";
import { CauseGraph } from "../../explain/graph.ts";
import { agentHealth, agentWaits } from "./agent-health.ts";
import { notReportingConditions } from "./unknown-conditions.ts";

test("a status that the status cleaner marked yields an agent that is silent since that time", () => {
  const silence = { node: "n1", since: new Date("2026-01-01T00:00:00Z") };
  const conditions = notReportingConditions([], ["Ready"], silence, new Date("2026-01-01T00:00:40Z"));
  expect(agentHealth("n1", conditions)).toMatchObject([
    {
      component: { kind: "Agent", name: "n1" },
      health: "Unknown",
      reason: "AgentNotReporting",
      since: "2026-01-01T00:00:00Z",
      ownFault: true,
    },
    {
      component: { kind: "Node", name: "n1" },
      health: "Healthy",
      dependencies: [{ component: { kind: "Agent", name: "n1" }, as: "part" }],
    },
  ]);
});

test("an agent that reports has no statements", () => {
  const condition = {
    type: "Ready",
    status: "Unknown",
    reason: "Starting",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  } as const;
  expect(agentHealth("n1", [condition])).toEqual([]);
  expect(agentHealth("n1", undefined)).toEqual([]);
});

test("a waiting agent is the cause for its node, with the kinds that it waits for", () => {
  const graph = new CauseGraph([agentWaits]);
  const annotations = {
    "plumbline.dev/node": "n1",
    "plumbline.dev/waits-for": "underlays",
    "plumbline.dev/waits-since": "2026-01-01T00:00:00Z",
  };
  graph.put(Lease, { metadata: { name: "agent-n1", namespace: "plumbline-system", annotations } });
  graph.put(Lease, { metadata: { name: "agent-n2", annotations: { "plumbline.dev/node": "n2" } } });
  expect(graph.causes()).toMatchObject([
    {
      id: "Agent/n1",
      reason: "AgentWaits",
      message: "Agent on node n1 waits for read access to underlays",
      since: "2026-01-01T00:00:00Z",
    },
  ]);
  expect(graph.verdict("Node/n1")?.health).toBe("Degraded");
});
