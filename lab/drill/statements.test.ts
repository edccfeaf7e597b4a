import { expect, test } from "vitest";
import { Event } from "../../src/api/core/event.ts";
import { Service } from "../../src/api/core/service.ts";
import type { KubeObject } from "../../src/api/kind.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { identityOf, newStatements, type StatusStatement, statementsOf } from "./statements.ts";

const condition = (type: string, status: string, reason: string) => ({ type, status, reason, message: "", lastTransitionTime: "" });
const object = (content: object): KubeObject => ({ metadata: { name: "node1", namespace: "ns" }, ...content });

test("a router's status has statements about itself, its resources and its sessions, healthy or not", () => {
  const status = {
    conditions: [condition("Ready", "False", "ConfigurationFailed"), condition("Degraded", "False", "Fine"), condition("Odd", "True", "X")],
    failedResources: [{ kind: "L2VNI", name: "a", reason: "ValidationFailed" }],
    resources: [
      { kind: "L2VNI", name: "a", generation: 1, state: "KeptPrevious" },
      { kind: "L3VNI", name: "b", generation: 1, state: "Applied" },
    ],
    sessions: [{ vrf: "default", neighbor: "192.0.2.1", state: "Active" }],
  };
  const about = "RouterNodeConfigurationStatus ns/node1:";
  expect(statementsOf(RouterNodeConfigurationStatus, object({ status }))).toEqual([
    { text: `${about} Ready=False ConfigurationFailed`, well: false },
    { text: `${about} Degraded=False Fine`, well: true },
    { text: `${about} L2VNI a ValidationFailed`, well: false },
    { text: `${about} L2VNI a KeptPrevious`, well: false },
    { text: `${about} L3VNI b Applied`, well: true },
    { text: `${about} session default/192.0.2.1 Active`, well: false },
  ]);
});

test("a session is named by its peer and node", () => {
  const status = { node: "node1", peer: "router", bgpStatus: "Established", bfdStatus: "Down" };
  expect(statementsOf(BGPSessionStatus, object({ status }))).toEqual([
    { text: "BGPSessionStatus router@node1: session Established", well: true },
    { text: "BGPSessionStatus router@node1: BFD Down", well: false },
  ]);
});

test("only a LoadBalancer Service has a statement about a missing address", () => {
  expect(statementsOf(Service, object({ spec: { type: "ClusterIP" } }))).toEqual([]);
  expect(statementsOf(Service, object({ spec: { type: "LoadBalancer" } }))).toEqual([
    { text: "Service ns/node1: has no address", well: false },
  ]);
});

function event(name: string, content: object): StatusStatement[] {
  const object = { metadata: { name }, type: "Warning", reason: "Drift", involvedObject: { kind: "Node", name: "node1" }, ...content };
  return statementsOf(Event, object);
}

test("a warning counts once, and again with another Event or a higher count", () => {
  const statements = [...event("a", {}), ...event("a", { count: 2 }), ...event("b", {})];
  expect(statements.map(({ text }) => text)).toEqual(Array(3).fill("Event Drift of Node node1"));
  expect(new Set(statements.map(identityOf)).size).toBe(3);
  expect(event("a", { type: "Normal" })).toEqual([]);
});

test("earlier statements are not new, except an Event with a higher count", () => {
  const before = new Set([...event("a", {}), { text: "Session down", well: false }].map(identityOf));
  const now: StatusStatement[] = [
    ...event("a", { count: 2 }),
    ...event("a", {}),
    { text: "Session down", well: false },
    { text: "Pool fine", well: true },
  ];
  expect(newStatements(now, before)).toEqual([...event("a", { count: 2 }), { text: "Pool fine", well: true }]);
});
