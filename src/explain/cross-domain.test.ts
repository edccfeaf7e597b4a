import { expect, test } from "vitest";
import { EndpointSlice } from "../api/core/endpoint-slice.ts";
import { Node } from "../api/core/node.ts";
import { Service } from "../api/core/service.ts";
import { PodNetworkConnectivityCheck } from "../api/connectivity/pod-network-connectivity-check.ts";
import type { Condition, Kind, KubeObject } from "../api/kind.ts";
import { BGPPeer } from "../api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../api/metallb/configuration-state.ts";
import { ServiceBGPStatus } from "../api/metallb/service-bgp-status.ts";
import { L3Passthrough } from "../api/openpe/l3passthrough.ts";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../api/openpe/underlay.ts";
import { CauseGraph } from "./graph.ts";
import { explainersOf } from "./explainers.ts";

const T = "2026-01-01T00:00:00Z";
const ROUTER = "openperouter-system";
const BALANCER = "metallb-system";
const NODES = ["n1", "n2"] as const;
type NodeName = (typeof NODES)[number];

const condition = (type: string, status: Condition["status"], reason: string, message = ""): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: T,
});
const ofNode = (node: string) => ({ annotations: { "plumbline.dev/node": node } });
const silent = (type: string, node: string) =>
  condition(
    type,
    "Unknown",
    "AgentNotReporting",
    `Agent on node ${node} has not reported since ${T}; the rest of this status is its last report`,
  );

interface Problem {
  /** Of the router with the fabric. */
  readonly fabric?: string;
  readonly link?: "Up" | "NoCarrier";
  /** Of the load balancer with the router of its node, as both tell of it. */
  readonly host?: string;
  readonly session?: Partial<NonNullable<BGPSessionStatus["status"]>>;
  readonly isSilent?: boolean;
}

/** The objects of a node whose load balancer speaks to the node's own router, which speaks to the fabric. */
function nodeObjects(
  node: NodeName,
  { fabric = "Established", link = "Up", host = "Established", session, isSilent }: Problem,
): [Kind, KubeObject][] {
  const reported = isSilent ? silent("Reported", node) : condition("Reported", "True", "AgentReports");
  return [
    [Node, { metadata: { name: node }, spec: {} } as KubeObject],
    [
      RouterNodeConfigurationStatus,
      {
        metadata: { name: node, namespace: ROUTER },
        status: {
          conditions: [isSilent ? silent("Ready", node) : condition("Ready", "True", "ConfigurationSuccessful")],
          resources: [
            { kind: "Underlay", name: "underlay", state: "Applied" },
            { kind: "L3Passthrough", name: "services", state: "Applied" },
          ],
          links: [{ name: "eth1", state: link, since: T }],
          sessions: [
            { vrf: "default", neighbor: "192.168.11.2", state: fabric, since: T },
            { vrf: "default", neighbor: "192.169.12.2", state: host, since: T },
          ],
        },
      } as KubeObject,
    ],
    [
      BGPSessionStatus,
      {
        metadata: { name: `${node}-router`, namespace: BALANCER, ...ofNode(node) },
        status: {
          node,
          peer: "router",
          address: "192.169.12.1",
          bgpStatus: host,
          bfdStatus: "N/A",
          since: T,
          conditions: [reported],
          ...session,
        },
      } as KubeObject,
    ],
    [
      ServiceBGPStatus,
      {
        metadata: { name: `web-${node}`, namespace: "shop", ...ofNode(node) },
        status: { node, service: "web", bgpPeers: ["router"], conditions: [reported] },
      } as KubeObject,
    ],
  ];
}

const hostsession = { asn: 64_514, hostasn: 64_515, localcidr: { ipv4: "192.169.12.0/24" } };
const common: readonly [Kind, KubeObject][] = [
  [Underlay, { metadata: { name: "underlay", namespace: ROUTER }, spec: { asn: 64_514, nics: ["eth1"] } } as KubeObject],
  [L3Passthrough, { metadata: { name: "services", namespace: ROUTER }, spec: { hostsession } } as KubeObject],
  [
    BGPPeer,
    {
      metadata: { name: "router", namespace: BALANCER },
      spec: { myASN: 64_515, peerASN: 64_514, peerAddress: "192.169.12.1" },
    } as KubeObject,
  ],
  [
    Service,
    {
      metadata: { name: "web", namespace: "shop" },
      spec: { type: "LoadBalancer" },
      status: { conditions: [condition("metallb.io/Announced", "True", "Announced")] },
    } as KubeObject,
  ],
];

function graphOf(problems: Partial<Record<NodeName, Problem>>, ...more: [Kind, KubeObject][]): CauseGraph {
  const graph = new CauseGraph(explainersOf({ routerNamespace: ROUTER, metallbNamespace: BALANCER }));
  for (const [kind, object] of [...common, ...NODES.flatMap((node) => nodeObjects(node, problems[node] ?? {})), ...more])
    graph.put(kind, object);
  return graph;
}

const causesOf = (graph: CauseGraph) => graph.causes().map(({ id, health, reason }) => `${health} ${id} ${reason}`);
const healthOf = (graph: CauseGraph, id: string) => graph.verdict(id)?.health;

test("a healthy cluster has no causes", () => {
  const graph = graphOf({});
  expect(causesOf(graph)).toEqual([]);
  expect(healthOf(graph, "Service/shop/web")).toBe("Healthy");
});

test("a link of a node's router is the cause for a Service of that node, although its own session is up", () => {
  const graph = graphOf({ n1: { fabric: "Active", link: "NoCarrier" } });
  expect(causesOf(graph)).toEqual(["Down Link/eth1@n1 NoCarrier"]);
  expect(healthOf(graph, "Service/shop/web")).toBe("Degraded");
  expect(graph.why("Service/shop/web")?.causes.map(({ id }) => id)).toEqual(["Link/eth1@n1"]);
});

test("a session that both ends report is one cause", () => {
  const graph = graphOf({ n1: { host: "Active" } });
  expect(causesOf(graph)).toEqual([`Down BGPPeer/${BALANCER}/router@n1 SessionActive`]);
});

test("a peer without any session is one cause, and so is a rejected peer", () => {
  expect(causesOf(graphOf({ n1: { host: "Active" }, n2: { host: "Active" } }))).toEqual([`Down BGPPeer/${BALANCER}/router NoSession`]);
  const leftOut = { bgpStatus: "Unknown", conditions: [condition("Reported", "False", "NotConfigured", "FRR has no such neighbor")] };
  const failure = {
    kind: "BGPPeer",
    name: "router",
    reason: "ValidationFailed",
    message: "missing local ASN",
    field: "spec.myASN",
    class: "Permanent",
  };
  const state = {
    metadata: { name: "speaker-n1", namespace: BALANCER, ...ofNode("n1") },
    status: { result: "Invalid", failedResources: [failure], conditions: [condition("Valid", "False", "ConfigurationInvalid")] },
  } as KubeObject;
  const rejected = graphOf({ n1: { host: "Active", session: leftOut }, n2: { host: "Active", session: leftOut } }, [
    ConfigurationState,
    state,
  ]);
  expect(causesOf(rejected)).toEqual([`Down BGPPeer/${BALANCER}/router ValidationFailed`]);
});

test("the load balancer's FRR is the cause for both ends of its sessions", () => {
  const session = {
    bgpStatus: "Unknown",
    conditions: [condition("Reported", "False", "FRRUnavailable", "FRR on the node does not answer")],
  };
  expect(causesOf(graphOf({ n1: { host: "Active", session } }))).toEqual(["Down FRR/lb@n1 FRRUnavailable"]);
});

test("a silent agent is the cause of everything unknown on its node, and of checks that do not reach it", () => {
  const endpoint = "10.0.0.1:8081";
  const check = {
    metadata: {
      name: "n2-to-n1",
      namespace: "plumbline-system",
      annotations: { "plumbline.dev/node": "n2", "plumbline.dev/target": "node/n1", "plumbline.dev/target-node": "n1" },
    },
    spec: { sourcePod: "n2", targetEndpoint: endpoint },
    status: {
      failures: [{ time: T, success: false, reason: "ConnectError", message: `Failed connect to ${endpoint}; Connection refused` }],
      outages: [{ start: T }],
      conditions: [condition("Reachable", "False", "ConnectError", `Failed connect to ${endpoint}; Connection refused`)],
    },
  } as KubeObject;
  const graph = graphOf({ n1: { isSilent: true } }, [PodNetworkConnectivityCheck, check]);
  expect(causesOf(graph)).toEqual(["Unknown Agent/n1 AgentNotReporting"]);
  expect(healthOf(graph, "Service/shop/web")).toBe("Degraded");
  expect(healthOf(graph, "PodNetworkConnectivityCheck/plumbline-system/n2-to-n1")).toBe("Down");
});

/** What the router of n3 says about the announced address of the Service. */
const unreached = {
  metadata: {
    name: "n3-to-web",
    namespace: "plumbline-system",
    annotations: {
      "plumbline.dev/node": "n3",
      "plumbline.dev/target": "external/shop/web",
      "plumbline.dev/probe": '{"type":"TCP","from":"Router"}',
    },
  },
  spec: { sourcePod: "n3", targetEndpoint: "192.0.2.7:80" },
  status: {
    failures: [
      { time: T, success: false, reason: "ConnectError", message: "Failed connect to 192.0.2.7:80 from router; Connection timed out" },
    ],
    outages: [{ start: T }],
    conditions: [condition("Reachable", "False", "ConnectError", "Failed connect to 192.0.2.7:80 from router; Connection timed out")],
  },
} as KubeObject;

const endpoints = {
  metadata: { name: "web-1", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
  addressType: "IPv4",
  endpoints: [{ addresses: ["10.244.0.2"], conditions: { ready: true } }],
} as KubeObject;

test("an external check that fails degrades its Service although everything else is healthy", () => {
  const graph = graphOf({}, [EndpointSlice, endpoints], [PodNetworkConnectivityCheck, unreached]);
  expect(causesOf(graph)).toEqual(["Down Target/external/shop/web NotReached"]);
  expect(healthOf(graph, "Service/shop/web")).toBe("Degraded");
  expect(graph.why("Service/shop/web")?.causes.map(({ id }) => id)).toEqual(["Target/external/shop/web"]);
});

test("an external check that fails is explained by the nodes that announce the Service", () => {
  const lost = { fabric: "Active", link: "NoCarrier" } as const;
  const graph = graphOf({ n1: lost, n2: lost }, [EndpointSlice, endpoints], [PodNetworkConnectivityCheck, unreached]);
  expect(causesOf(graph)).toEqual(["Down Link/eth1@n1 NoCarrier", "Down Link/eth1@n2 NoCarrier"]);
});
