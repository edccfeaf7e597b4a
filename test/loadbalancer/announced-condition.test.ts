import { componentLabel, nodeAnnotation } from "../../src/api/annotations.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EndpointSlice } from "../../src/api/core/endpoint-slice.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { Node } from "../../src/api/core/node.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { L2Advertisement } from "../../src/api/metallb/l2-advertisement.ts";
import { ServiceL2Status } from "../../src/api/metallb/service-l2-status.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { microTime } from "../../src/api/time.ts";
import { agentLeaseName } from "../../src/kube/members/agent-lease.ts";
import { BalancedCluster, eventually, METALLB, type Running } from "./fixtures/balanced-cluster.ts";

const { signal } = new AbortController();
let cluster: BalancedCluster;
let controller: Running;

beforeAll(async () => {
  cluster = await BalancedCluster.start("lb-announced");
  for (const name of ["n1", "n2"]) await member(name);
  // This node does not report.
  await cluster.client.resource(Node).create({ metadata: { name: "n3" } }, { signal });
  // The Leases of the members are not renewed.
  controller = cluster.controller("controller", { silenceMs: 600_000 });
});
afterAll(async () => {
  await controller.stop();
  await cluster.stop();
});

/** A node with an agent that is alive for as long as the suite runs. */
async function member(name: string): Promise<void> {
  await cluster.client.resource(Node).create({ metadata: { name } }, { signal });
  const metadata = {
    name: agentLeaseName(name),
    namespace: "plumbline-system",
    labels: { [componentLabel]: "agent" },
    annotations: { [nodeAnnotation]: name },
  };
  const spec = { holderIdentity: name, leaseDurationSeconds: 30, renewTime: microTime(new Date()) };
  await cluster.client.resource(Lease).create({ metadata, spec }, { signal });
}

const endpoints = (service: string, ...nodes: string[]) =>
  cluster.client.resource(EndpointSlice).create(
    {
      metadata: { name: service, namespace: "shop", labels: { "kubernetes.io/service-name": service } },
      addressType: "IPv4",
      endpoints: nodes.map((nodeName, nth) => ({ addresses: [`10.1.0.${nth + 1}`], conditions: { ready: true }, nodeName })),
      ports: [],
    },
    { signal },
  );
const conditions = async (name: string) => (await cluster.readService(name)).status?.conditions ?? [];
const announced = async (name: string) => (await conditions(name)).find(({ type }) => type === "metallb.io/Announced");
const inMetallb = (name: string) => ({ name, namespace: METALLB });

/** A Service of a pool of its own, which others leave alone: a condition waits ten seconds for its turn, and so the tests wait together. */
async function alone(name: string, spec: object = {}): Promise<void> {
  await cluster.pool(name, [`192.0.2.${pools++}/32`], { autoAssign: false });
  await cluster.service(name, { annotations: { "metallb.io/address-pool": name }, ...spec });
}
let pools = 0;
const advertiseL2 = (pool: string) =>
  cluster.client.resource(L2Advertisement).create({ metadata: inMetallb(pool), spec: { ipAddressPools: [pool] } }, { signal });
async function advertiseBgp(pool: string): Promise<void> {
  const peer = { myASN: 64512, peerASN: 64513, peerAddress: `198.51.100.${pools++}` };
  await cluster.client.resource(BGPPeer).create({ metadata: inMetallb(pool), spec: peer }, { signal });
  await cluster.client
    .resource(BGPAdvertisement)
    .create({ metadata: inMetallb(pool), spec: { ipAddressPools: [pool], peers: [pool] } } as never, { signal });
}

test.concurrent("the condition has the number of nodes and the reasons, records Events on change, and leaves other conditions alone", async () => {
  await alone("local", { externalTrafficPolicy: "Local" });
  const uncovered = "No active BGPAdvertisement or L2Advertisement covers pool local";
  await eventually(async () =>
    expect(await announced("local")).toMatchObject({ status: "False", reason: "noMatchingAdvertisement", message: uncovered }),
  );
  await endpoints("local", "n2");
  await eventually(async () => expect(await cluster.events("local")).toContain(`NotAnnounced: ${uncovered}`));
  await advertiseBgp("local");
  const message = "BGP: 1 node announces it, 1 not (noLocalEndpoints), 1 not (speakerNotReporting)";
  await eventually(async () => expect(await announced("local")).toMatchObject({ status: "True", reason: "Announced", message }));
  await eventually(async () =>
    expect((await cluster.events("local")).filter((event) => /Announced/.test(event)).sort()).toEqual([
      `Announced: ${message}`,
      `NotAnnounced: ${uncovered}`,
    ]),
  );

  const others = { type: "example.com/Checked", status: "True", reason: "Fine", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
  await cluster.editService("local", { status: { conditions: [others] } }, "status");
  await eventually(async () => expect(await conditions("local")).toMatchObject([others, { type: "metallb.io/Announced", message }]));
});

test.concurrent("a Service whose endpoints appear shortly after its address is never reported as not announced", async () => {
  await advertiseL2("settling");
  await alone("settling");
  await eventually(async () => expect((await cluster.readService("settling")).status?.loadBalancer?.ingress).toBeDefined());
  await endpoints("settling", "n1");
  await eventually(async () => expect(await announced("settling")).toMatchObject({ status: "True" }));
  await eventually(async () => expect((await cluster.events("settling")).filter((event) => event.startsWith("Announced"))).toHaveLength(1));
  expect((await cluster.events("settling")).filter((event) => /NotAnnounced/.test(event))).toEqual([]);
});

test.concurrent("the node that announces over L2 is named, and changes within ten seconds cause one write", async () => {
  await advertiseL2("web");
  await alone("web");
  await eventually(async () => expect(await announced("web")).toMatchObject({ message: "L2: no node announces it (noEndpoints)" }));
  const before = await cluster.writes("controller");
  const slice = await endpoints("web", "n1");
  for (let nth = 0; nth < 10; nth++) {
    const ready = nth % 2 === 0;
    const change = { endpoints: [{ addresses: ["10.1.0.1"], conditions: { ready, serving: ready }, nodeName: "n1" }] };
    await cluster.client.resource(EndpointSlice).patch(slice.metadata, change, { signal });
  }
  await cluster.client.resource(EndpointSlice).patch(slice.metadata, { endpoints: slice.endpoints }, { signal });
  await eventually(async () =>
    expect(await announced("web")).toMatchObject({ message: expect.stringMatching(/^L2: n[12] announces it, 1 on standby$/) as string }),
  );
  const writes = (await cluster.writes("controller")).slice(before.length);
  expect(writes.filter((write) => write.includes("services/web/status"))).toHaveLength(1);
});

test.concurrent("an address in use is reported with an Event until it is free", async () => {
  await advertiseL2("taken");
  await alone("taken");
  await endpoints("taken", "n1");
  await eventually(async () => expect(await announced("taken")).toMatchObject({ status: "True" }));
  const [, elected = ""] = /^L2: (n\d) announces/.exec((await announced("taken"))?.message ?? "") ?? [];
  const statuses = cluster.client.resource(ServiceL2Status);
  const key = { name: "taken", namespace: "shop" };
  await statuses.create({ metadata: { ...key, annotations: { [nodeAnnotation]: elected } } }, { signal });
  const say = (status: "True" | "False", reason: string) => {
    const condition = {
      type: "Announced",
      status,
      reason,
      message: "02:00:00:00:00:07 has it",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    return statuses.patchStatus(key, { status: { conditions: [condition] } }, { signal });
  };
  await say("False", "AddressInUse");
  const message = `L2: ${elected} does not announce it: 02:00:00:00:00:07 has it`;
  await eventually(async () => expect(await announced("taken")).toMatchObject({ status: "False", reason: "addressInUse", message }));
  await eventually(async () => expect(await cluster.events("taken")).toContain(`NotAnnounced: ${message}`));
  await say("True", "Announcing");
  await eventually(async () => expect(await announced("taken")).toMatchObject({ status: "True" }));
});

test.concurrent("another node than the elected one is named while its ServiceL2Status says that it announces", async () => {
  await advertiseL2("stood-in");
  await alone("stood-in");
  await endpoints("stood-in", "n1");
  const named = (node: string) =>
    eventually(async () =>
      expect(await announced("stood-in")).toMatchObject({ status: "True", message: `L2: ${node} announces it, 1 on standby` }),
    );
  await eventually(async () => expect(await announced("stood-in")).toMatchObject({ status: "True" }));
  const [, elected = ""] = /^L2: (n\d) announces/.exec((await announced("stood-in"))?.message ?? "") ?? [];
  const other = elected === "n1" ? "n2" : "n1";
  const statuses = cluster.client.resource(ServiceL2Status);
  const key = { name: "stood-in", namespace: "shop" };
  const condition = {
    type: "Announced",
    status: "True",
    reason: "Announcing",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  } as const;
  await statuses.create({ metadata: { ...key, annotations: { [nodeAnnotation]: other } } }, { signal });
  await statuses.patchStatus(key, { status: { conditions: [condition] } }, { signal });
  await named(other);
  await statuses.patchStatus(
    key,
    { status: { conditions: [{ ...condition, status: "Unknown", reason: "AgentNotReporting" }] } },
    { signal },
  );
  await named(elected);
});

test.concurrent("a Service that is no longer of type LoadBalancer has no such condition", async () => {
  await alone("typed");
  await eventually(async () => expect(await announced("typed")).toBeDefined());
  await cluster.editService("typed", { spec: { type: "ClusterIP", allocateLoadBalancerNodePorts: null, externalTrafficPolicy: null } });
  await eventually(async () => expect(await announced("typed")).toBeUndefined());
});

/** What the speaker of a node says of its configuration, and that it announces a Service. */
async function speaks(node: string, result: "Valid" | "Invalid", service?: string): Promise<void> {
  const annotations = { [nodeAnnotation]: node };
  const state = { name: `speaker-${node}`, namespace: METALLB };
  await cluster.client
    .resource(ConfigurationState)
    .apply({ metadata: { ...state, annotations } }, { signal, fieldManager: node, force: true });
  await cluster.client.resource(ConfigurationState).patchStatus(state, { status: { result } }, { signal });
  if (service === undefined) return;
  const report = { name: `${service}-${node}`, namespace: "shop", annotations };
  await cluster.client.resource(ServiceBGPStatus).create({ metadata: report }, { signal });
  await cluster.client.resource(ServiceBGPStatus).patchStatus(report, { status: { service, node, bgpPeers: ["kept"] } }, { signal });
}

test("last good versions on nodes count, also for a new controller; a peer that they cannot use does not", async () => {
  await advertiseBgp("kept");
  await cluster.pool("kept", ["203.0.113.0/24"]);
  await cluster.service("kept");
  await endpoints("kept", "n1");
  const both = "BGP: 2 nodes announce it, 1 not (speakerNotReporting)";
  await eventually(async () => expect(await announced("kept")).toMatchObject({ status: "True", message: both }));

  // The advertisement names an undefined community; both nodes continue without it.
  for (const node of ["n1", "n2"]) await speaks(node, "Invalid", "kept");
  await cluster.client.resource(BGPAdvertisement).patch(inMetallb("kept"), { spec: { communities: ["unheard-of"] } }, { signal });
  await controller.stop();
  const { resourceVersion } = (await cluster.readService("kept")).metadata;
  controller = cluster.controller("anew", { silenceMs: 600_000 });
  await cluster.service("never-announced");
  await endpoints("never-announced", "n1");
  const uncovered = "No active BGPAdvertisement or L2Advertisement covers pool kept";
  await eventually(async () => expect(await announced("never-announced")).toMatchObject({ status: "False", message: uncovered }));
  expect((await cluster.readService("kept")).metadata.resourceVersion).toBe(resourceVersion);

  // It is repaired. One node takes it; the other cannot use the peer, because of its Secret.
  await cluster.client.resource(BGPAdvertisement).patch(inMetallb("kept"), { spec: { communities: null } }, { signal });
  await speaks("n1", "Valid");
  await cluster.client.resource(ServiceBGPStatus).delete({ name: "kept-n2", namespace: "shop" }, { signal });
  const one = "BGP: 1 node announces it, 1 not (configurationInvalid), 1 not (speakerNotReporting)";
  for (const name of ["kept", "never-announced"]) {
    await eventually(async () => expect(await announced(name)).toMatchObject({ status: "True", message: one }));
  }
  await speaks("n2", "Valid");
  await eventually(async () => expect(await announced("kept")).toMatchObject({ message: both }));
});
