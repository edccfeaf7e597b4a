import { expect, test } from "vitest";
import { Node } from "../api/core/node.ts";
import type { Condition } from "../api/kind.ts";
import { L2VNI } from "../api/openpe/l2vni.ts";
import { L3VNI } from "../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../api/openpe/underlay.ts";
import { CauseGraph } from "../explain/graph.ts";
import { edges } from "./explain.ts";

const namespace = "openperouter-system";
const SINCE = "2026-11-16T12:00:00Z";
type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;

function ready(status: Condition["status"], reason: string, message = ""): Condition[] {
  const opposite = status === "True" ? "False" : status === "False" ? "True" : "Unknown";
  return [
    { type: "Ready", status, reason, message, lastTransitionTime: SINCE },
    { type: "Degraded", status: opposite, reason, message, lastTransitionTime: SINCE },
  ];
}

const resource = (kind: "Underlay" | "L2VNI" | "L3VNI", name: string) => ({ kind, name, generation: 1, state: "Applied" as const });
const session = (neighbor: string, state: string) => ({ vrf: "default", neighbor, state, since: SINCE });

/** A node on which everything works, but for what is given. */
function nodeStatus(node: string, change: Status = {}): RouterNodeConfigurationStatus {
  return {
    metadata: { name: node, namespace },
    status: {
      conditions: ready("True", "ConfigurationSuccessful"),
      resources: [resource("Underlay", "underlay"), resource("L2VNI", "shop"), resource("L3VNI", "red")],
      sessions: [
        { vrf: "default", neighbor: "192.168.11.2", state: "Established", since: SINCE },
        { vrf: "red", neighbor: "10.1.0.2", state: "Established", since: SINCE },
      ],
      links: [{ name: "eth1", state: "Up", since: SINCE }],
      vnis: [
        { vni: 110, type: "L2", vrf: "red", state: "Up" },
        { vni: 100, type: "L3", vrf: "red", state: "Up" },
      ],
      ...change,
    },
  };
}

function graphOf(...statuses: RouterNodeConfigurationStatus[]): CauseGraph {
  const graph = new CauseGraph(edges({ routerNamespace: namespace }));
  graph.put(Underlay, { metadata: { name: "underlay", namespace }, spec: {} } as Underlay);
  graph.put(L2VNI, { metadata: { name: "shop", namespace }, spec: { vni: 110, vrf: "red" } } as L2VNI);
  graph.put(L3VNI, { metadata: { name: "red", namespace }, spec: { vni: 100, vrf: "red" } } as L3VNI);
  for (const status of statuses) graph.put(RouterNodeConfigurationStatus, status);
  return graph;
}

function causesOf(graph: CauseGraph): string[] {
  return graph.causes().map(({ id, reason }) => `${id} ${reason}`);
}

const VNI_CONFLICT = {
  conditions: ready("False", "ConfigurationFailed"),
  failedResources: [{ kind: "L2VNI", name: "shop", reason: "ValidationFailed", message: "VNI 110 conflicts", field: "spec.vni" }],
} satisfies Status;

test("a node that an Underlay selects and that has not reported is Unknown", () => {
  const graph = graphOf(nodeStatus("node2"));
  graph.put(Node, { metadata: { name: "node1" } });
  expect(causesOf(graph)).toEqual([`RouterNodeConfigurationStatus/${namespace}/node1 NotReported`]);
  graph.put(RouterNodeConfigurationStatus, nodeStatus("node1"));
  expect(causesOf(graph)).toEqual([]);
});

test("while no node has ever reported a router, the missing agents are the one cause", () => {
  const graph = graphOf();
  graph.put(Node, { metadata: { name: "node1" } });
  graph.put(Node, { metadata: { name: "node2" } });
  expect(causesOf(graph)).toEqual(["Agents/router NoAgent"]);
  expect(graph.verdict(`L3VNI/${namespace}/red`)?.health).toBe("Unknown");
  expect(graph.verdict(`Underlay/${namespace}/underlay`)?.health).toBe("Unknown");
  graph.put(RouterNodeConfigurationStatus, nodeStatus("node1"));
  graph.put(RouterNodeConfigurationStatus, nodeStatus("node2"));
  expect(causesOf(graph)).toEqual([]);
});

test("a healthy router has no problem, nor has a resource that selects no node", () => {
  const graph = graphOf(nodeStatus("node1"), nodeStatus("node2"));
  expect(causesOf(graph)).toEqual([]);
  expect([...graph.verdicts()].filter(({ health }) => health !== "Healthy")).toEqual([]);
  expect(causesOf(graphOf())).toEqual([]);
});

test("an agent that has not reported yet is no problem", () => {
  expect(causesOf(graphOf({ metadata: { name: "node1", namespace } }))).toEqual([]);
});

test("a link without carrier is the cause for the session, the Underlay and its dependents on that node", () => {
  const broken = nodeStatus("node2", {
    links: [{ name: "eth1", state: "NoCarrier", since: SINCE }],
    sessions: [{ vrf: "default", neighbor: "192.168.11.2", state: "Connect", since: SINCE }],
  });
  const graph = graphOf(nodeStatus("node1"), broken);
  expect(causesOf(graph)).toEqual(["Link/eth1@node2 NoCarrier"]);
  const why = graph.why(`L3VNI/${namespace}/red`);
  expect(why?.path.health).toBe("Degraded");
  expect(why?.causes).toMatchObject([
    { id: "Link/eth1@node2", since: SINCE, fix: { command: "ip netns exec perouter ip link show eth1" } },
  ]);
  expect(graph.verdict(`L3VNI/${namespace}/red@node2`)?.health).toBe("Down");
  expect(graph.verdict(`L3VNI/${namespace}/red@node1`)?.health).toBe("Healthy");
  expect(graph.verdict("Node/node2")?.health).toBe("Degraded");
});

test("an unnumbered session depends on its own link only", () => {
  const broken = nodeStatus("node1", {
    links: [
      { name: "eth1", state: "NoCarrier", since: SINCE },
      { name: "eth2", state: "Up", since: SINCE },
    ],
    sessions: [session("eth1", "Active"), session("eth2", "Connect")],
  });
  expect(causesOf(graphOf(broken))).toEqual(["Link/eth1@node1 NoCarrier", "Session/eth2@node1 SessionDown"]);
});

test("a session that is down while the links are up is the cause", () => {
  const graph = graphOf(nodeStatus("node1", { sessions: [{ vrf: "default", neighbor: "192.168.11.2", state: "Active", since: SINCE }] }));
  expect(causesOf(graph)).toEqual(["Session/192.168.11.2@node1 SessionDown"]);
  expect(graph.verdict(`Underlay/${namespace}/underlay`)?.health).toBe("Down");
});

test("one of two fabric sessions down leaves the Underlay degraded", () => {
  const graph = graphOf(nodeStatus("node1", { sessions: [session("192.168.11.2", "Active"), session("192.168.11.3", "Established")] }));
  expect(graph.verdict(`Underlay/${namespace}/underlay@node1`)?.health).toBe("Degraded");
});

test("the session with the host does not count as a fabric session", () => {
  const graph = graphOf(nodeStatus("node1", { sessions: [session("192.168.11.2", "Active"), session("10.100.0.2", "Established")] }));
  const spec = { neighbors: [{ asn: 64512, address: "192.168.11.2" }] };
  graph.put(Underlay, { metadata: { name: "underlay", namespace }, spec } as Underlay);
  expect(graph.verdict(`Underlay/${namespace}/underlay@node1`)?.health).toBe("Down");
});

test("a host session that is down affects only its VRF", () => {
  const sessions = [
    { vrf: "default", neighbor: "192.168.11.2", state: "Established" },
    { vrf: "red", neighbor: "10.1.0.2", state: "Idle", since: SINCE },
  ];
  const graph = graphOf(nodeStatus("node1", { sessions }));
  expect(causesOf(graph)).toEqual(["Session/red/10.1.0.2@node1 SessionDown"]);
  expect(graph.verdict(`L3VNI/${namespace}/red@node1`)?.health).toBe("Degraded");
  expect(graph.verdict(`L2VNI/${namespace}/shop@node1`)?.health).toBe("Healthy");
});

test("a rejected resource is its own cause, with the field to change, whatever else is down", () => {
  const graph = graphOf(
    nodeStatus("node1", {
      ...VNI_CONFLICT,
      links: [{ name: "eth1", state: "Down", since: SINCE }],
      resources: [
        { kind: "Underlay", name: "underlay", generation: 1, state: "Applied" },
        { kind: "L2VNI", name: "shop", generation: 2, state: "KeptPrevious" },
      ],
    }),
  );
  expect(graph.why(`L2VNI/${namespace}/shop`)?.causes).toMatchObject([
    {
      id: `L2VNI/${namespace}/shop@node1`,
      health: "Degraded",
      message: "VNI 110 conflicts; the last good version stays applied",
      fix: { change: { component: { kind: "L2VNI", namespace, name: "shop" }, field: "spec.vni" } },
    },
  ]);
});

test("the same failure on several nodes has one cause, the resource itself", () => {
  const rejected = (node: string) =>
    nodeStatus(node, {
      ...VNI_CONFLICT,
      resources: [
        { kind: "Underlay", name: "underlay", generation: 1, state: "Applied" },
        { kind: "L2VNI", name: "shop", generation: 1, state: "Failed" },
      ],
    });
  const graph = graphOf(rejected("node1"), rejected("node2"));
  expect(graph.causes()).toMatchObject([
    {
      id: `L2VNI/${namespace}/shop`,
      health: "Down",
      message: "VNI 110 conflicts, on 2 nodes",
      since: SINCE,
      fix: { change: { field: "spec.vni" } },
    },
  ]);
  expect(graph.why("Node/node2")?.causes.map(({ id }) => id)).toEqual([`L2VNI/${namespace}/shop`]);

  graph.put(RouterNodeConfigurationStatus, nodeStatus("node1"));
  expect(graph.causes().map(({ id }) => id)).toEqual([`L2VNI/${namespace}/shop@node2`]);
});

test("a resource without its dependency is explained by the failed dependency", () => {
  const graph = graphOf(
    nodeStatus("node1", {
      ...VNI_CONFLICT,
      failedResources: [
        ...VNI_CONFLICT.failedResources,
        { kind: "L3VNI", name: "red", reason: "DependencyFailed", message: "No healthy L2VNI exists for VRF 'red'", field: "spec.vrf" },
      ],
      resources: [
        { kind: "Underlay", name: "underlay", generation: 1, state: "Applied" },
        { kind: "L2VNI", name: "shop", generation: 1, state: "Failed" },
        { kind: "L3VNI", name: "red", generation: 1, state: "Failed" },
      ],
    }),
  );
  expect(graph.why(`L3VNI/${namespace}/red`)?.causes.map(({ id }) => id)).toEqual([`L2VNI/${namespace}/shop@node1`]);
});

test("a VNI without an Underlay is its own cause", () => {
  const graph = graphOf(
    nodeStatus("node1", {
      conditions: ready("False", "ConfigurationFailed"),
      failedResources: [{ kind: "L2VNI", name: "shop", reason: "DependencyFailed", message: "No Underlay selects this node" }],
      resources: [{ kind: "L2VNI", name: "shop", generation: 1, state: "Failed" }],
      sessions: [],
      links: [],
    }),
  );
  expect(causesOf(graph)).toEqual([`L2VNI/${namespace}/shop@node1 DependencyFailed`]);
});

test("FRR that does not answer is the cause for the router of the node", () => {
  const graph = graphOf(
    nodeStatus("node1", { conditions: ready("False", "RouterUnavailable", "bgpd does not answer"), sessions: [], links: [] }),
  );
  expect(causesOf(graph)).toEqual(["FRR/router@node1 RouterUnavailable"]);
  expect(graph.verdict(`L2VNI/${namespace}/shop@node1`)?.health).toBe("Down");
});

test("the node of a silent agent is Unknown, and the agent is the cause even of what it last reported as down", () => {
  const graph = graphOf(
    nodeStatus("node1", {
      conditions: ready("Unknown", "AgentNotReporting", "Agent on node node1 has not reported since 12:00"),
      sessions: [{ vrf: "default", neighbor: "192.168.11.2", state: "Active", since: SINCE }],
      links: [{ name: "eth1", state: "NoCarrier", since: SINCE }],
    }),
  );
  expect(causesOf(graph)).toEqual(["Agent/node1 AgentNotReporting"]);
  expect(graph.verdict(`L2VNI/${namespace}/shop`)?.health).not.toBe("Healthy");
});

test("ignores configuration in another namespace", () => {
  const graph = graphOf();
  graph.put(L3VNI, { metadata: { name: "stray", namespace: "default" }, spec: { vni: 5, vrf: "x" } } as L3VNI);
  expect(graph.verdict("L3VNI/default/stray")).toBeUndefined();
});

test("a VNI that is down on one node is a cause there, with the reason of the agent", () => {
  const vnis = [
    { vni: 110, type: "L2" as const, vrf: "red", state: "Down", message: "vni110 is not in bridge br-pe-110" },
    { vni: 100, type: "L3" as const, vrf: "red", state: "Unknown", message: "not read" },
  ];
  const vnisUp = { type: "VNIsUp", status: "False" as const, reason: "VNIsDown", message: "", lastTransitionTime: SINCE };
  const conditions = [...ready("True", "ConfigurationSuccessful"), vnisUp];
  const graph = graphOf(nodeStatus("node1", { vnis, conditions }), nodeStatus("node2"));
  expect(causesOf(graph)).toContain("L2VNI/openperouter-system/shop@node1 VniDown");
  expect(graph.causes().find(({ reason }) => reason === "VniDown")).toMatchObject({
    message: "VNI 110 is Down on node node1: vni110 is not in bridge br-pe-110",
    since: SINCE,
  });
});

test("an import that only another VNI exports makes its L3VNI Degraded", () => {
  const graph = graphOf(nodeStatus("node1"));
  const l3vni = (name: string, spec: object) => ({ metadata: { name, namespace }, spec: { vrf: name, ...spec } }) as L3VNI;
  graph.put(L3VNI, l3vni("amber", { vni: 301, exportRTs: ["64514:32"] }));
  graph.put(L3VNI, l3vni("red", { vni: 100, importRTs: ["64514:32"] }));
  expect(causesOf(graph)).toEqual([`L3VNI/${namespace}/red ImportsOtherVni`]);
  graph.put(L3VNI, l3vni("amber", { vni: 100, exportRTs: ["64514:32"] }));
  expect(causesOf(graph)).toEqual([]);
});
