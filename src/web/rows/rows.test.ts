import { expect, test } from "vitest";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Service } from "../../api/core/service.ts";
import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { L2VNI } from "../../api/openpe/l2vni.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import type { StoredRow } from "../model/row-store.ts";
import { announcement, check, modelOf, pool, routerStatus, service, session, SINCE } from "../testing/fixtures.ts";
import type { Rows, ViewName } from "../api.ts";
import { checkDetail, visibleCheckRow } from "./connectivity.ts";
import { policyDetail } from "./failover.ts";
import { serviceDetail } from "./loadbalancer.ts";
import { routerDetail } from "./router.ts";

type Objects = readonly (readonly [Kind, KubeObject])[];

function built(objects: Objects) {
  const model = modelOf();
  for (const [kind, object] of objects) model.put(kind, object);
  model.refresh();
  return model;
}

function rows<V extends ViewName>(view: V, ...objects: Objects): Rows[V][] {
  return JSON.parse(built(objects).rows.snapshot(view, (stored: StoredRow) => stored.text)) as Rows[V][];
}

test("the row of a router counts applied resources, sessions and VNIs of its node", () => {
  expect(rows("router", [RouterNodeConfigurationStatus, routerStatus("n1")])).toEqual([
    {
      type: "router",
      key: "router/openperouter-system/n1",
      id: "RouterNodeConfigurationStatus/openperouter-system/n1",
      node: "n1",
      health: "Healthy",
      resources: { applied: 2, total: 2 },
      sessions: { up: 1, total: 1 },
      vnis: { up: 1, total: 1 },
      failed: [],
    },
  ]);
});

const named = (name: string, vrf: string) => ({ metadata: { name, namespace: "openperouter-system" }, spec: { vrf, vni: 1 } });

test("the tree of a router has L2VNIs below the Underlay, an L3VNI below the L2VNI of its VRF, and the state of each", () => {
  const report = routerStatus("n1");
  const status = {
    ...report.status,
    resources: [
      { kind: "Underlay", name: "fabric", generation: 1, state: "Applied" },
      { kind: "L2VNI", name: "shop", generation: 1, state: "Applied" },
      { kind: "L3VNI", name: "red", generation: 2, state: "KeptPrevious" },
      { kind: "L3VNI", name: "blue", generation: 1, state: "Failed" },
    ],
    failedResources: [
      { kind: "L3VNI", name: "red", reason: "ValidationFailed", field: "spec.vni", message: "VNI 100 is held by L3VNI green" },
      { kind: "L3VNI", name: "blue", reason: "DependencyFailed", message: "No L2VNI of VRF blue" },
    ],
  };
  const model = built([
    [RouterNodeConfigurationStatus, { ...report, status } as KubeObject],
    [L2VNI, named("shop", "red")],
    [L3VNI, named("red", "red")],
    [L3VNI, named("blue", "blue")],
  ]);
  const component = model.glance((context) => routerDetail("openperouter-system/n1", context));
  expect(component?.tree).toMatchObject([
    {
      id: "Underlay/openperouter-system/fabric@n1",
      state: "Applied",
      children: [
        { name: "shop", state: "Applied", children: [{ name: "red", state: "KeptPrevious", field: "spec.vni", children: [] }] },
        { name: "blue", state: "Failed", health: "Down", reason: "DependencyFailed", message: "No L2VNI of VRF blue", children: [] },
      ],
    },
  ]);
  expect(component?.sessions).toEqual([
    { id: "Session/192.168.11.1@n1", vrf: "default", neighbor: "192.168.11.1", state: "Established", health: "Healthy", since: SINCE },
  ]);
  expect(component?.vnis).toEqual([{ vni: 110, type: "L2", vrf: "shop", state: "Up", health: "Healthy", macs: 3, vteps: 2 }]);
});

test("the rows of the load balancer are pools with their usage, Services with their announcers, and sessions by node", () => {
  const result = rows(
    "loadbalancer",
    [IPAddressPool, pool("edge")],
    [Service, service("shop", "web")],
    [Service, { ...service("shop", "db"), spec: { type: "ClusterIP" } } as KubeObject],
    ...["n5", "n4", "n3", "n2", "n1"].map((on) => [ServiceBGPStatus, announcement("shop", "web", on)] as const),
    [ServiceBGPStatus, announcement("shop", "web", "n6", [])],
    [BGPSessionStatus, session("n1", "tor-b", "Active")],
    [BGPSessionStatus, session("n1", "tor-a")],
  );
  expect(result.toSorted((one, other) => (one.key < other.key ? -1 : 1))).toMatchObject([
    {
      key: "pool/metallb-system/edge",
      addresses: ["192.0.2.0/24"],
      ipv4: { assigned: 2, available: 254 },
      services: 2,
      health: "Healthy",
    },
    {
      key: "service/shop/web",
      addresses: ["192.0.2.1"],
      pool: "edge",
      bgp: { count: 5, nodes: ["n1", "n2", "n3", "n4"] },
    },
    {
      key: "sessions/metallb-system/n1",
      node: "n1",
      health: "Down",
      peers: {
        "tor-a": { id: "BGPPeer/metallb-system/tor-a@n1", bgp: "Established", health: "Healthy", since: SINCE },
        "tor-b": { id: "BGPPeer/metallb-system/tor-b@n1", bgp: "Active", health: "Down", since: SINCE },
      },
    },
  ]);
});

test("a Service has its announcing nodes, peers and session states, and the next layer 2 candidates", () => {
  const l2 = {
    metadata: { name: "web", namespace: "shop" },
    status: { node: "n2", service: "web", interfaces: [{ name: "eth0" }], eligibleNodes: ["n2", "n3"] },
  };
  const model = built([
    [Service, service("shop", "web")],
    [ServiceL2Status, l2],
    [ServiceBGPStatus, announcement("shop", "web", "n1", ["tor-a", "tor-b"])],
    [BGPSessionStatus, session("n1", "tor-a")],
  ]);
  const component = model.glance((context) => serviceDetail("shop/web", context, "metallb-system"));
  expect(component).toMatchObject({
    announcements: [
      { node: "n2", protocol: "L2", interfaces: ["eth0"] },
      {
        node: "n1",
        protocol: "BGP",
        peers: [
          { name: "tor-a", bgp: "Established", health: "Healthy" },
          { name: "tor-b", bgp: "Unknown", health: "Unknown" },
        ],
      },
    ],
    eligible: ["n2", "n3"],
    endpoints: { ready: 0, total: 0 },
  });
});

const policy = {
  metadata: { name: "shop", namespace: "shop" },
  spec: { desiredState: "secondary", wave: 10 },
  status: {
    currentState: "mixed",
    mode: "safe",
    summary: "Waiting for Deployment web to end",
    conditions: [
      { type: "InProgress", status: "True", reason: "Waiting", message: "", lastTransitionTime: SINCE },
      { type: "Ready", status: "False", reason: "CopyTooOld", message: "", lastTransitionTime: SINCE },
    ],
    peer: { reachable: true, lastSyncTime: "2026-11-16T08:00:00Z" },
    workloadStatuses: [
      { kind: "Deployment", name: "web", error: "1 pod is left", state: "terminating" },
      { kind: "CronJob", name: "nightly", state: "suspended" },
    ],
    volumeReplicationStatuses: [{ name: "data", state: "primary", lastSyncTime: SINCE }],
    transition: {
      to: "secondary",
      mode: "safe",
      generation: 2,
      startTime: SINCE,
      steps: [
        { name: "Quiesce", state: "Done", startTime: SINCE, completionTime: SINCE },
        {
          name: "ScaleDown",
          state: "Waiting",
          startTime: SINCE,
          waitingFor: { kind: "Deployment", name: "web", message: "has a pod left", since: SINCE },
        },
      ],
    },
    history: [
      {
        to: "primary",
        mode: "safe",
        generation: 1,
        startTime: SINCE,
        completionTime: SINCE,
        outcome: "Completed",
        seconds: 42,
        steps: [{ name: "Promote", seconds: 40 }],
      },
    ],
  },
} as unknown as FailoverPolicy;

test("the row of a failover policy has its steps, what they wait for, and its history with durations", () => {
  expect(rows("failover", [FailoverPolicy, policy])).toMatchObject([
    {
      key: "policy/shop/shop",
      desired: "secondary",
      current: "mixed",
      phase: "InProgress",
      message: "Waiting for Deployment web to end",
      workloads: { ok: 1, total: 2 },
      volumes: { ok: 1, total: 1 },
      wave: 10,
      ready: "False",
      copied: "2026-11-16T08:00:00Z",
      transition: {
        to: "secondary",
        start: SINCE,
        steps: [
          { name: "Quiesce", state: "Done", start: SINCE, end: SINCE },
          { name: "ScaleDown", state: "Waiting", waitingFor: { kind: "Deployment", name: "web", message: "has a pod left" } },
        ],
      },
      history: [{ to: "primary", outcome: "Completed", seconds: 42, steps: [{ name: "Promote", seconds: 40 }] }],
    },
  ]);
  const component = built([[FailoverPolicy, policy]]).glance((context) => policyDetail("shop/shop", context));
  expect(component?.resources.map(({ kind, name, state }) => [kind, name, state])).toEqual([
    ["VolumeReplication", "data", "primary"],
    ["Deployment", "web", "terminating"],
    ["CronJob", "nightly", "suspended"],
  ]);
});

test("the row of a check has its latency and outages, and the common cause of failing checks is listed once", () => {
  const result = rows(
    "connectivity",
    [PodNetworkConnectivityCheck, check("a-b", "a", "10.0.0.2:80")],
    [PodNetworkConnectivityCheck, check("a-c", "a", "10.0.0.3:80", "False")],
  );
  expect(result.filter(({ type }) => type === "check")).toMatchObject([
    { key: "check/shop/a-b", source: "shop/a", target: "10.0.0.2:80", health: "Healthy", latencyMs: 1.23, outages: [] },
    { key: "check/shop/a-c", source: "shop/a", target: "10.0.0.3:80", since: SINCE, outages: [{ start: SINCE }] },
  ]);
  const component = built([[PodNetworkConnectivityCheck, check("a-c", "a", "10.0.0.3:80", "False")]]).glance((context) =>
    checkDetail("shop/a-c", context),
  );
  expect(component?.actions).toEqual([{ time: SINCE, success: false, reason: "ConnectError", latencyMs: 1.23 }]);
  expect(component?.outages).toEqual([{ start: SINCE, message: "No route to host" }]);
});

test("a check has no outage logs on the page, and a retired check is not shown", () => {
  const failed = check("a-c", "a", "10.0.0.3:80", "False");
  const outages = [{ start: SINCE, startLogs: [{ time: SINCE, success: false }], message: "No route to host" }];
  expect(visibleCheckRow({ ...failed, status: { ...failed.status, outages } }).status?.outages).toEqual([
    { start: SINCE, message: "No route to host" },
  ]);
  const retired = { ...failed, metadata: { ...failed.metadata, annotations: { "plumbline.dev/retired": SINCE } } };
  expect(rows("connectivity", [PodNetworkConnectivityCheck, retired]).filter(({ type }) => type === "check")).toEqual([]);
});
