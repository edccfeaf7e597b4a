import { expect, test } from "vitest";
import { Lease } from "../api/core/lease.ts";
import { CauseGraph } from "./graph.ts";
import { controllerLeads } from "./leader.ts";

const NOW = Date.parse("2026-01-01T00:10:00Z");

function causesWith(spec: Lease["spec"], name = "plumbline-controller"): string[] {
  const graph = new CauseGraph([controllerLeads(NOW)]);
  const lease: Lease = { metadata: { name, namespace: "plumbline-system" }, spec };
  graph.put(Lease, lease);
  return graph.causes().map(({ id, message }) => `${id}: ${message}`);
}

test("a controller that renews its Lease leads", () => {
  expect(causesWith({ holderIdentity: "a", renewTime: "2026-01-01T00:09:50.000000Z" })).toEqual([]);
});

test("one that no longer does is to blame for what nobody decides", () => {
  expect(causesWith({ holderIdentity: "a", renewTime: "2026-01-01T00:08:00.000000Z" })).toEqual([
    "Controller/plumbline: No controller leads: a no longer renews its Lease",
  ]);
});

test("one that let go of it and has no successor, too", () => {
  expect(causesWith({ holderIdentity: "", renewTime: "2026-01-01T00:09:59.000000Z" })).toEqual([
    "Controller/plumbline: No controller leads: the last one has ended",
  ]);
});

test("other Leases say nothing of it", () => {
  expect(causesWith({ holderIdentity: "a", renewTime: "2025-01-01T00:00:00.000000Z" }, "agent-n1")).toEqual([]);
});
