import { expect, test } from "vitest";
import type { Service } from "../../api/core/service.ts";
import { Service as ServiceKind } from "../../api/core/service.ts";
import type { Condition } from "../../api/kind.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { dependenciesOf, statementsFrom, type FakeObject, unhealthyIn } from "../../api/testing/fake-reader.ts";
import { bgpAd, l2Ad, peer, pool } from "../testing/config-fixtures.ts";
import { edges } from "./explain.ts";

const NS = "metallb-system";
const T = "2026-01-01T00:00:00Z";
const explain = (...objects: FakeObject[]) => statementsFrom(edges({ metallbNamespace: NS }), ...objects);

const condition = (type: string, status: Condition["status"], reason: string, message = ""): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: T,
});

function service(announced?: Condition, more: Partial<Service> & { annotations?: Record<string, string> } = {}): Service {
  const { annotations, ...rest } = more;
  return {
    metadata: { name: "web", namespace: "shop", ...(annotations && { annotations }), ...rest.metadata },
    spec: { type: "LoadBalancer", clusterIP: "10.96.0.1", ...rest.spec },
    status: { ...(announced && { conditions: [announced] }), ...rest.status },
  };
}

const notAnnounced = (reason: string, message = "") => condition("metallb.io/Announced", "False", reason, message);

function session(node: string, status: NonNullable<BGPSessionStatus["status"]>, name = "tor"): BGPSessionStatus {
  return {
    metadata: { name: `${node}-${name}`, namespace: NS, annotations: { "plumbline.dev/node": node } },
    status: { node, peer: name, conditions: [condition("Reported", "True", "AgentReports")], ...status },
  };
}

const established = { bgpStatus: "Established", bfdStatus: "N/A", address: "192.0.2.1" };

test("a session that is down is a part of its peer and of its node", () => {
  const statements = explain([
    BGPSessionStatus,
    session("n1", { ...established, bgpStatus: "Active", since: T, lastResetReason: "Hold Timer Expired" }),
  ]);
  expect(unhealthyIn(statements)).toEqual([`Down BGPPeer/${NS}/tor@n1 SessionActive`]);
  expect(statements.find(({ health }) => health === "Down")).toMatchObject({
    since: T,
    message: "BGP session of n1 with tor at 192.0.2.1 is Active, not Established; last reset: Hold Timer Expired",
  });
  expect(dependenciesOf(statements, `BGPPeer/${NS}/tor`)).toEqual([`part BGPPeer/${NS}/tor@n1`]);
  expect(dependenciesOf(statements, "Node/n1")).toEqual([`part BGPPeer/${NS}/tor@n1`]);
});

test("a session that the peer closed has its reason, and a fix for too many prefixes", () => {
  const closed = { ...established, bgpStatus: "Idle", since: T, lastResetReason: "BGP Notification received: x" };
  const of = (rejection: string) =>
    explain([BGPSessionStatus, session("n1", { ...closed, rejection })]).find(({ reason }) => reason === "RejectedByPeer");
  expect(of("Cease/Administrative Shutdown")).toMatchObject({
    message: "BGP session of n1 with tor at 192.0.2.1 is Idle, not Established; the peer closed it: Cease/Administrative Shutdown",
    fix: { text: "check on 192.0.2.1 why it closes the session with this node" },
  });
  expect(of("Cease/Maximum Number of Prefixes Reached")?.fix?.text).toMatch(/^raise maximum-prefix for this node on 192\.0\.2\.1, or /);
});

const serviceAt = (name: string, ip: string) =>
  service(undefined, { metadata: { name, namespace: "shop" }, status: { loadBalancer: { ingress: [{ ip }] } } });

test("unsent prefixes are a cause of their own, only for the Services with these prefixes", () => {
  const prefixes = [{ family: "IPv4" as const, wanted: 9, sent: 7, missing: ["203.0.113.1/32-203.0.113.2/32"] }];
  const statements = explain(
    [BGPSessionStatus, session("n1", { ...established, prefixes })],
    [ServiceKind, serviceAt("web", "203.0.113.1")],
    [ServiceKind, serviceAt("mail", "203.0.113.3")],
  );
  expect(unhealthyIn(statements)).toEqual([`Down SentPrefixes/${NS}/tor@n1 PrefixesNotSent`]);
  expect(statements.find(({ reason }) => reason === "PrefixesNotSent")).toMatchObject({
    message: "n1 does not send 2 of 9 prefixes to tor at 192.0.2.1: 203.0.113.1/32-203.0.113.2/32",
    fix: { command: "plumbline routes 203.0.113.1/32 --node n1" },
  });
  expect(dependenciesOf(statements, "Service/shop/web@n1")).toEqual([`part SentPrefixes/${NS}/tor@n1`]);
  expect(dependenciesOf(statements, "Service/shop/mail@n1")).toEqual([]);
});

test.each([
  ["example.com/lb", "run a controller with --lb-class example.com/lb, or create the Service again without spec.loadBalancerClass"],
  [undefined, "run a controller without --lb-class, or create the Service again with the spec.loadBalancerClass of one that runs"],
])("a Service of class %s without a controller is its own cause", (loadBalancerClass, text) => {
  const spec = { type: "LoadBalancer" as const, ...(loadBalancerClass && { loadBalancerClass }) };
  const statements = explain([ServiceKind, service(notAnnounced("Unserved"), { spec })]);
  expect(unhealthyIn(statements)).toEqual(["!Down Service/shop/web Unserved"]);
  expect(statements.find(({ health }) => health === "Down")).toMatchObject({ ownFault: true, fix: { text } });
});

const hostsession = { asn: 64_514, hostasn: 64_515, localcidr: { ipv4: "192.169.10.0/24" } };
const blue: L3VNI = {
  metadata: { name: "blue", namespace: "openperouter-system" },
  spec: { vrf: "blue", vni: 200, vxlanport: 4789, hostsession },
};
const atRouter = { ...established, address: "192.169.10.1" };

function router(state: string): RouterNodeConfigurationStatus {
  return {
    metadata: { name: "n1", namespace: "openperouter-system" },
    status: { sessions: [{ vrf: "blue", neighbor: "192.169.10.2", state }] },
  };
}

test("a session with the router of its node depends on the L3VNI that configures that end", () => {
  const up = explain([BGPSessionStatus, session("n1", atRouter)], [L3VNI, blue], [RouterNodeConfigurationStatus, router("Established")]);
  expect(dependenciesOf(up, `BGPPeer/${NS}/tor@n1`)).toEqual([
    "Agent/n1",
    "FRR/lb@n1",
    "FRR/router@n1",
    "L3VNI/openperouter-system/blue@n1",
  ]);
  expect(unhealthyIn(up)).toEqual([]);
  const missing = explain([BGPSessionStatus, session("n1", { ...atRouter, bgpStatus: "Active" })], [L3VNI, blue]);
  expect(dependenciesOf(missing, `BGPPeer/${NS}/tor@n1`)).toContain("L3VNI/openperouter-system/blue@n1");
});

test("if both ends report a session as down, the passive end depends on the active one", () => {
  const down = session("n1", { ...atRouter, bgpStatus: "Active" });
  const statements = explain([BGPSessionStatus, down], [L3VNI, blue], [RouterNodeConfigurationStatus, router("Active")]);
  expect(dependenciesOf(statements, "Session/blue/192.169.10.2@n1")).toEqual([`BGPPeer/${NS}/tor@n1`]);
  expect(dependenciesOf(statements, `BGPPeer/${NS}/tor@n1`)).toEqual(["Agent/n1", "FRR/lb@n1", "FRR/router@n1"]);
});

test("a peer without any session is one cause for all nodes", () => {
  const down = { ...established, bgpStatus: "Active", since: T };
  const statements = explain([BGPSessionStatus, session("n1", down), session("n2", { ...down, bgpStatus: "Idle" })]);
  expect(statements.find(({ reason }) => reason === "NoSession")).toMatchObject({
    health: "Down",
    since: T,
    message: "No node of 2 has a BGP session with tor at 192.0.2.1",
  });
  expect(dependenciesOf(statements, `BGPPeer/${NS}/tor@n1`)).toContain(`BGPPeer/${NS}/tor`);
  expect(dependenciesOf(statements, `BGPPeer/${NS}/tor`)).toEqual([]);
  const one = explain([BGPSessionStatus, session("n1", down), session("n2", established)]);
  expect(unhealthyIn(one)).toEqual([`Down BGPPeer/${NS}/tor@n1 SessionActive`]);
});

test("an Established session whose BFD is not up is Degraded", () => {
  const statements = explain([BGPSessionStatus, session("n1", { ...established, bfdStatus: "Unknown" })]);
  expect(unhealthyIn(statements)).toEqual([`Degraded BGPPeer/${NS}/tor@n1 BFDDown`]);
});

test("if FRR does not answer, FRR is Down and its sessions are Unknown", () => {
  const conditions = [condition("Reported", "False", "FRRUnavailable", "FRR on the node does not answer")];
  const statements = explain([BGPSessionStatus, session("n1", { bgpStatus: "Unknown", bfdStatus: "N/A", conditions })]);
  expect(unhealthyIn(statements)).toEqual(["Down FRR/lb@n1 FRRUnavailable", `Unknown BGPPeer/${NS}/tor@n1 FRRUnavailable`]);
});

test("a session that is not configured in FRR depends on its BGPPeer", () => {
  const conditions = [condition("Reported", "False", "NotConfigured", "FRR has no such neighbor")];
  const left = session("n1", { ...atRouter, bgpStatus: "Unknown", conditions });
  const statements = explain([BGPSessionStatus, left], [L3VNI, blue], [RouterNodeConfigurationStatus, router("Active")]);
  expect(dependenciesOf(statements, `BGPPeer/${NS}/tor@n1`)).toEqual(["Agent/n1", "FRR/lb@n1", "FRR/router@n1", `BGPPeer/${NS}/tor`]);
  expect(dependenciesOf(statements, "Session/blue/192.169.10.2@n1")).toEqual([`BGPPeer/${NS}/tor@n1`]);
  expect(dependenciesOf(statements, `BGPPeer/${NS}/tor`)).toEqual([]);
});

test("a status that the status cleaner marked is Unknown, and its agent is the cause", () => {
  const conditions = [
    condition("Reported", "Unknown", "AgentNotReporting", `Agent on node n1 has not reported since ${T}; the rest of this status`),
  ];
  const statements = explain([BGPSessionStatus, session("n1", { bgpStatus: "Unknown", bfdStatus: "N/A", conditions })]);
  expect(unhealthyIn(statements)).toEqual(["!Unknown Agent/n1 AgentNotReporting", `Unknown BGPPeer/${NS}/tor@n1 AgentNotReporting`]);
});

function state(status: NonNullable<ConfigurationState["status"]>, node?: string): ConfigurationState {
  const name = node === undefined ? "controller" : `speaker-${node}`;
  return { metadata: { name, namespace: NS, ...(node !== undefined && { annotations: { "plumbline.dev/node": node } }) }, status };
}

const invalid = [condition("Valid", "False", "ConfigurationInvalid", "1 resource is not in effect as written")];
const failedPeer = { kind: "BGPPeer", name: "tor", namespace: NS, class: "Permanent", observedGeneration: 1 } as const;

test("an invalid resource is one cause for all nodes, with the field to change", () => {
  const failure = {
    ...failedPeer,
    reason: "ValidationFailed",
    message: "parsing peer tor missing local ASN",
    field: "spec.myASN",
  } as const;
  const status = { result: "Invalid", failedResources: [failure], conditions: invalid } as const;
  const statements = explain([
    ConfigurationState,
    state({ ...status, failedResources: [failure] }, "n1"),
    state({ ...status, failedResources: [failure] }, "n2"),
  ]);
  expect(new Set(unhealthyIn(statements))).toEqual(new Set([`!Down BGPPeer/${NS}/tor ValidationFailed`]));
  expect(statements.find(({ health }) => health === "Down")?.fix).toEqual({
    text: "change spec.myASN",
    change: { component: { kind: "BGPPeer", namespace: NS, name: "tor" }, field: "spec.myASN" },
  });
});

test("a resource that keeps its last good version is Degraded, and the message says so", () => {
  const failure = { ...failedPeer, reason: "ValidationFailed", message: "bad", field: "spec.myASN" } as const;
  const resources = [{ kind: "BGPPeer", name: "tor", state: "KeptPrevious" }] as const;
  const statements = explain([
    ConfigurationState,
    state({ result: "Invalid", failedResources: [failure], resources: [...resources], conditions: invalid }, "n1"),
  ]);
  expect(unhealthyIn(statements)).toEqual([`!Degraded BGPPeer/${NS}/tor KeptPrevious`]);
  expect(statements.find(({ health }) => health === "Degraded")?.message).toBe("bad; the last good version stays active");
});

test("a resource that FRR rejects on one node is Down on that node only", () => {
  const failure = { ...failedPeer, reason: "ApplicationFailed", message: "% refused" } as const;
  const statements = explain([ConfigurationState, state({ result: "Invalid", failedResources: [failure], conditions: invalid }, "n1")]);
  expect(unhealthyIn(statements)).toEqual([`!Down BGPPeer/${NS}/tor@n1 ApplicationFailed`]);
  expect(dependenciesOf(statements, `BGPPeer/${NS}/tor`)).toEqual([`part BGPPeer/${NS}/tor@n1`]);
});

test("a peer without its Secret depends on the missing Secret", () => {
  const failure = {
    ...failedPeer,
    class: "Transient",
    reason: "DependencyFailed",
    field: "spec.passwordSecret.name",
    message: "parsing peer tor secret ref not found\nfailed to parse peer tor password secret",
  } as const;
  const statements = explain(
    [ConfigurationState, state({ result: "Invalid", failedResources: [failure], conditions: invalid }, "n1")],
    [BGPPeer, peer("tor", { passwordSecret: { name: "pw" } })],
  );
  expect(unhealthyIn(statements)).toEqual([`!Down Secret/${NS}/pw NotFound`, `Down BGPPeer/${NS}/tor DependencyFailed`]);
  expect(dependenciesOf(statements, `BGPPeer/${NS}/tor`)).toEqual([`Secret/${NS}/pw`]);
});

test("a Service without an address depends on its full pool, whose fix is to add addresses", () => {
  const message = "No address: no available IPs in pool small for ipv4 IPFamily: pool small: all 4 IPv4 addresses are in use";
  const full = { ...pool("small", ["192.0.2.0/30"]), status: { conditions: [condition("Exhausted", "True", "NoAddressLeft")] } };
  const statements = explain(
    [ServiceKind, service(notAnnounced("noIPAllocated", message), { annotations: { "metallb.io/address-pool": "small" } })],
    [IPAddressPool, full],
  );
  expect(unhealthyIn(statements)).toEqual([`!Down IPAddressPool/${NS}/small Exhausted`, "Down Service/shop/web noIPAllocated"]);
  expect(statements[0]).toMatchObject({ since: T, fix: { change: { field: "spec.addresses" } } });
});

test("a Service that requests a missing pool is the cause, with the annotation to change", () => {
  const message = 'No address: unknown pool "nowhere"';
  const statements = explain([
    ServiceKind,
    service(notAnnounced("noIPAllocated", message), { annotations: { "metallb.io/address-pool": "nowhere" } }),
  ]);
  expect(unhealthyIn(statements)).toEqual(["!Down Service/shop/web noIPAllocated"]);
  expect(statements[0]?.fix?.change?.field).toBe("metadata.annotations[metallb.io/address-pool]");
});

test("a pool without an advertisement is the cause for its Services", () => {
  const message = "No active BGPAdvertisement or L2Advertisement covers pool fabric";
  const uncovered: FakeObject[] = [
    [ServiceKind, service(notAnnounced("noMatchingAdvertisement", message))],
    [IPAddressPool, pool("fabric", ["192.0.2.0/24"])],
  ];
  expect(unhealthyIn(explain(...uncovered))).toEqual([
    `!Down IPAddressPool/${NS}/fabric NotAdvertised`,
    "Down Service/shop/web noMatchingAdvertisement",
  ]);
  const withInactiveAd = explain(...uncovered, [L2Advertisement, l2Ad("segment")]);
  expect(dependenciesOf(withInactiveAd, "Service/shop/web")).toEqual([`alternative L2Advertisement/${NS}/segment`]);
});

test("a Service without endpoints is its own cause", () => {
  const statements = explain(
    [ServiceKind, service(notAnnounced("noLocalEndpoints"))],
    [BGPAdvertisement, bgpAd("bad", { peers: ["gone"] })],
  );
  expect(unhealthyIn(statements)).toEqual(["!Down Service/shop/web noLocalEndpoints", `!Degraded BGPAdvertisement/${NS}/bad UnknownPeer`]);
});

test("a Service depends on one of the nodes that announce it, and each node on one of its peers", () => {
  const report = (node: string): ServiceBGPStatus => ({
    metadata: { name: `web-${node}`, namespace: "shop", annotations: { "plumbline.dev/node": node } },
    status: { node, service: "web", bgpPeers: ["a", "b"], conditions: [condition("Reported", "True", "AgentReports")] },
  });
  const statements = explain(
    [ServiceKind, service(condition("metallb.io/Announced", "True", "Announced"))],
    [ServiceBGPStatus, report("n1"), report("n2")],
  );
  expect(unhealthyIn(statements)).toEqual([]);
  expect(dependenciesOf(statements, "Service/shop/web")).toEqual(["alternative Service/shop/web@n1", "alternative Service/shop/web@n2"]);
  expect(dependenciesOf(statements, "Service/shop/web@n1")).toEqual([
    "Agent/n1",
    `alternative BGPPeer/${NS}/a@n1`,
    `alternative BGPPeer/${NS}/b@n1`,
  ]);
});

test("an address in use by another machine has its MAC address in the cause", () => {
  const message = "10.30.0.100 is in use by 02:00:00:00:00:09 on lan0; the node announces it when that stops";
  const report: ServiceL2Status = {
    metadata: { name: "web", namespace: "shop", annotations: { "plumbline.dev/node": "n1" } },
    status: {
      node: "n1",
      service: "web",
      interfaces: [{ name: "lan0" }],
      conflicts: [{ address: "10.30.0.100", mac: "02:00:00:00:00:09", interface: "lan0" }],
      conditions: [condition("Announced", "False", "AddressInUse", message)],
    },
  };
  const statements = explain([ServiceL2Status, report]);
  expect(unhealthyIn(statements)).toEqual(["!Down Address/10.30.0.100 AddressInUse", "Down Service/shop/web@n1 AddressInUse"]);
  expect(dependenciesOf(statements, "Service/shop/web@n1")).toEqual(["Agent/n1", "part Link/lan0@n1", "Address/10.30.0.100"]);
});

test.each([
  ["Announced", "False", "10.30.0.100 is in use by 02:00:00:00:00:09 on lan0", "!Down Service/shop/web@n1 AddressInUse"],
  ["Contested", "True", "10.30.0.100 is also in use by 02:00:00:00:00:09 on lan0", "!Degraded Service/shop/web@n1 AddressInUse"],
] as const)("a conflict in %s of a status that an earlier version wrote is reported with its message", (type, status, message, cause) => {
  const report: ServiceL2Status = {
    metadata: { name: "web", namespace: "shop", annotations: { "plumbline.dev/node": "n1" } },
    status: { node: "n1", service: "web", conditions: [condition(type, status, "AddressInUse", message)] },
  };
  const statements = explain([ServiceL2Status, report]);
  expect(unhealthyIn(statements)).toEqual([cause]);
  expect(statements.find(({ component }) => component.kind === "Service")).toMatchObject({ message });
});

test("a machine that also answers for an address of the node is reported too", () => {
  const conditions = [
    condition("Announced", "True", "Announcing", "Announcing 10.30.0.100"),
    condition("Conflict", "True", "AddressInUse", "10.30.0.100 is also in use by 02:00:00:00:00:09 on lan0"),
  ];
  const report: ServiceL2Status = {
    metadata: { name: "web", namespace: "shop", annotations: { "plumbline.dev/node": "n1" } },
    status: {
      node: "n1",
      service: "web",
      conflicts: [{ address: "10.30.0.100", mac: "02:00:00:00:00:09", interface: "lan0" }],
      conditions,
    },
  };
  const statements = explain([ServiceL2Status, report]);
  expect(unhealthyIn(statements)).toEqual(["!Down Address/10.30.0.100 AddressInUse"]);
  expect(dependenciesOf(statements, "Service/shop/web@n1")).toEqual(["Agent/n1", "Address/10.30.0.100"]);
});

test.each([
  ["is new", service()],
  ["is being deleted", service(notAnnounced("noEndpoints"), { metadata: { name: "web", namespace: "shop", deletionTimestamp: T } })],
  ["is of another type", service(notAnnounced("noEndpoints"), { spec: { type: "ClusterIP" } })],
  ["is of another class", service(undefined, { spec: { type: "LoadBalancer", loadBalancerClass: "other" } })],
])("reports no problem of a Service that %s", (_title, one) => {
  expect(unhealthyIn(explain([ServiceKind, one]))).toEqual([]);
});

test("a Service that keeps its address while it requests another is Degraded", () => {
  const annotations = { "metallb.io/address-pool": "other", "metallb.io/ip-allocated-from-pool": "fabric" };
  const ingress = {
    loadBalancer: { ingress: [{ ip: "192.0.2.1" }] },
    conditions: [condition("metallb.io/Announced", "True", "Announced")],
  };
  const statements = explain([ServiceKind, service(undefined, { annotations, status: ingress })]);
  expect(unhealthyIn(statements)).toEqual(["!Degraded Service/shop/web RequestUnmet"]);
});

test("configuration in the wrong namespace is reported", () => {
  const stray = { ...peer("tor"), metadata: { name: "tor", namespace: "default" } };
  expect(unhealthyIn(explain([BGPPeer, stray]))).toEqual(["!Degraded BGPPeer/default/tor WrongNamespace"]);
});

test("an interface of layer 2 addresses that has lost its carrier is a cause with node and link, unless the agent is silent", () => {
  const state = (valid: Condition): ConfigurationState => ({
    metadata: { name: "speaker-n1", namespace: NS, annotations: { "plumbline.dev/node": "n1" } },
    status: {
      result: "Valid",
      links: [{ name: "lan0", state: "NoCarrier" }],
      conditions: [valid, condition("LinksUp", "False", "NoCarrier")],
    },
  });
  const statements = explain([ConfigurationState, state(condition("Valid", "True", "ConfigurationValid"))]);
  expect(unhealthyIn(statements)).toEqual(["!Down Link/lan0@n1 NoCarrier"]);
  expect(statements.find(({ reason }) => reason === "NoCarrier")?.since).toBe(T);
  const silent = explain([ConfigurationState, state(condition("Valid", "Unknown", "AgentNotReporting"))]);
  expect(unhealthyIn(silent).filter((line) => line.includes("Link"))).toEqual([]);
});
