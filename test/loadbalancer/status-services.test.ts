import { afterAll, beforeAll, expect, test } from "vitest";
import { Event } from "../../src/api/core/event.ts";
import { Node } from "../../src/api/core/node.ts";
import { Service } from "../../src/api/core/service.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { speakerAnnounced } from "../../src/loadbalancer/metrics.ts";
import { eventually, SpeakerCluster } from "../support/speaker-cluster.ts";

// ServiceBGPStatus of two real speakers: to whom they mean to announce, whether or not anyone listens. at-rest.test.ts has more of what changes nothing.

const { signal } = new AbortController();
let cluster: SpeakerCluster;

beforeAll(async () => {
  cluster = await SpeakerCluster.start("lb-services", 2);
  for (const node of cluster.nodes) node.startAgent();
  const peer = { myASN: 64513, peerASN: 64512, connectTime: "1s" };
  await cluster.create(BGPPeer, "tor", { ...peer, peerAddress: "192.168.50.1" });
  await cluster.create(BGPPeer, "silent", { ...peer, peerAddress: "192.168.50.99" });
  await cluster.create(IPAddressPool, "pool", { addresses: ["10.20.0.0/24", "2001:db8:20::/64"] });
  await cluster.create(BGPAdvertisement, "ad");
  await cluster.greet();
});
afterAll(() => cluster.stop());

const status = async (service: string, index: number) => (await cluster.get(ServiceBGPStatus, `${service}-worker${index}`, "shop"))?.status;
/** To whom each of the nodes announces the Service: `tor silent`, or nothing. */
const peersOf = async (service: string) =>
  Promise.all([0, 1].map(async (index) => ((await status(service, index))?.bgpPeers ?? []).toSorted().join(" ")));
const goTo = (service: string, ...expected: string[]) => eventually(async () => expect(await peersOf(service)).toEqual(expected));

test("a Service is announced to all peers from every node, and each node reports it", async () => {
  await cluster.service("web", { ip: "10.20.0.1", on: ["worker0"] });
  await goTo("web", "silent tor", "silent tor");
  const { metadata } = (await cluster.get(ServiceBGPStatus, "web-worker1", "shop")) as ServiceBGPStatus;
  expect(metadata.labels).toEqual({ "metallb.io/node": "worker1", "metallb.io/service": "web" });
  expect(metadata.ownerReferences).toMatchObject([{ apiVersion: "v1", kind: "Service", name: "web" }]);
  expect(await status("web", 0)).toMatchObject({
    node: "worker0",
    service: "web",
    families: [{ family: "IPv4", peers: ["silent", "tor"] }],
    advertisements: ["ad"],
    conditions: [{ type: "Reported", status: "True" }],
  });
  await eventually(async () =>
    expect(await cluster.show("bgp ipv4 unicast 10.20.0.1/32")).toMatch(/192\.168\.50\.10[\s\S]*192\.168\.50\.11/),
  );
});

test("an unknown peer name in the advertisement changes nothing", async () => {
  // A session is reported a moment after FRR has it.
  await cluster.atRest();
  const name = () => cluster.patch(BGPAdvertisement, "ad", { spec: { peers: ["tor", "silent", "nobody"] } });
  expect(await cluster.writesDuring(name, 1_500, 2)).toEqual([
    // The ConfigurationState has the generation of the advertisement.
    expect.stringMatching(/^patch configurationstates\/status/),
    expect.stringMatching(/^patch configurationstates\/status/),
  ]);
  await cluster.patch(BGPAdvertisement, "ad", { spec: { peers: ["tor"] } });
  await goTo("web", "tor", "tor");
  await cluster.patch(BGPAdvertisement, "ad", { spec: { peers: null } });
  await goTo("web", "silent tor", "silent tor");
});

test("a peer that FRR rejects is not listed until FRR accepts it", async () => {
  await cluster.create(BGPPeer, "refused", { myASN: 64513, peerASN: 64512, peerAddress: "192.168.50.98", localASN: 64513 });
  const state = async () => (await cluster.get(ConfigurationState, "speaker-worker0"))?.status;
  await eventually(async () => expect((await state())?.failedResources).toMatchObject([{ kind: "BGPPeer", name: "refused" }]));
  await goTo("web", "silent tor", "silent tor");
  await cluster.patch(BGPPeer, "refused", { spec: { localASN: 64514 } });
  await goTo("web", "refused silent tor", "refused silent tor");
  await cluster.remove(BGPPeer, "refused");
  await goTo("web", "silent tor", "silent tor");
});

test("irrelevant changes cause no write: terminating endpoints, other conditions, sessions that go down", async () => {
  const churn = async () => {
    await cluster.endpoints("web", ["worker1"], { ready: false, serving: true, terminating: true });
    const condition = { type: "Ready", status: "True", lastTransitionTime: "2026-11-16T05:00:00Z", reason: "x", message: "" };
    await cluster.client
      .resource(Service)
      .patchStatus({ name: "web", namespace: "shop" }, { status: { conditions: [condition] } }, { signal });
    await cluster.say("router bgp 64512", "neighbor 192.168.50.11 shutdown");
  };
  expect((await cluster.writesDuring(churn)).filter((write) => write.includes("service"))).toEqual([]);
  await cluster.say("router bgp 64512", "no neighbor 192.168.50.11 shutdown");
});

test("the status lists peers by address family", async () => {
  await cluster.service("six", { ip: "2001:db8:20::1", on: ["worker0"], spec: { ipFamilies: ["IPv4"] } });
  await eventually(async () => expect(await peersOf("web")).toEqual(["silent tor", "silent tor"]));
  expect(await peersOf("six")).toEqual(["", ""]);
  await cluster.patch(BGPPeer, "tor", { spec: { dualStackAddressFamily: true } });
  await goTo("six", "tor", "tor");
  expect(await status("six", 0)).toMatchObject({ families: [{ family: "IPv6", peers: ["tor"] }] });
  await cluster.patch(BGPPeer, "tor", { spec: { dualStackAddressFamily: false } });
  await goTo("six", "", "");
  await cluster.remove(Service, "six", "shop");
});

test("a node that the advertisement does not select, or without endpoints under policy Local, writes no report", async () => {
  await cluster.client.resource(Node).patch({ name: "worker1" }, { metadata: { labels: { edge: "yes" } } }, { signal });
  await cluster.patch(BGPAdvertisement, "ad", { spec: { nodeSelectors: [{ matchLabels: { edge: "yes" } }] } });
  await goTo("web", "", "silent tor");
  await eventually(async () => expect(await cluster.show("bgp ipv4 unicast")).toContain("10.20.0.1/32"));
  await cluster.patch(BGPAdvertisement, "ad", { spec: { nodeSelectors: null } });
  await goTo("web", "silent tor", "silent tor");

  await cluster.endpoints("web", ["worker0"]);
  await cluster.patch(Service, "web", { spec: { externalTrafficPolicy: "Local" } }, "shop");
  await goTo("web", "silent tor", "");
  await cluster.endpoints("web", ["worker1"]);
  await goTo("web", "", "silent tor");
  await cluster.patch(Service, "web", { spec: { externalTrafficPolicy: "Cluster" } }, "shop");
  await goTo("web", "silent tor", "silent tor");
});

const exclude = (value: string | null) => ({
  metadata: { labels: { "node.kubernetes.io/exclude-from-external-load-balancers": value } },
});
const network = (status: string) => ({
  status: { conditions: [{ type: "NetworkUnavailable", status, lastTransitionTime: "2026-11-16T05:00:00Z" }] },
});

test("a node with the exclude label or without network stops announcing", async () => {
  await cluster.client.resource(Node).patch({ name: "worker0" }, exclude(""), { signal });
  await goTo("web", "", "silent tor");
  await cluster.client.resource(Node).patch({ name: "worker0" }, exclude(null), { signal });
  await goTo("web", "silent tor", "silent tor");
  await cluster.client.resource(Node).patchStatus({ name: "worker1" }, network("True"), { signal });
  await goTo("web", "silent tor", "");
  await cluster.client.resource(Node).patchStatus({ name: "worker1" }, network("False"), { signal });
  await eventually(async () => expect(await peersOf("web")).toEqual(["silent tor", "silent tor"]));
});

test("a deleted peer is removed from the lists, and with the last one the statuses are deleted", async () => {
  const { spec } = (await cluster.get(BGPPeer, "tor")) as BGPPeer;
  await cluster.remove(BGPPeer, "silent");
  await goTo("web", "tor", "tor");
  await cluster.remove(BGPPeer, "tor");
  await eventually(async () => expect(await cluster.names(ServiceBGPStatus)).toEqual([]));
  await cluster.create(BGPPeer, "tor", spec);
  await goTo("web", "tor", "tor");
});

test("edits and deletions by others are reverted", async () => {
  const one = { name: "web-worker0", namespace: "shop" };
  await cluster.client.resource(ServiceBGPStatus).patchStatus(one, { status: { bgpPeers: ["made-up"], conditions: null } }, { signal });
  await goTo("web", "tor", "tor");
  await cluster.client.resource(ServiceBGPStatus).delete(one, { signal });
  await goTo("web", "tor", "tor");
  await cluster.patch(
    ServiceBGPStatus,
    "web-worker0",
    { metadata: { ownerReferences: null, labels: { "metallb.io/service": "x" } } },
    "shop",
  );
  await eventually(async () => {
    const { metadata } = (await cluster.get(ServiceBGPStatus, "web-worker0", "shop")) as ServiceBGPStatus;
    expect([metadata.labels?.["metallb.io/service"], metadata.ownerReferences?.[0]?.name]).toEqual(["web", "web"]);
  });
});

test("stale reports of a killed agent are fixed by the next one", async () => {
  await cluster.node(1).stopAgent();
  await cluster.service("late", { ip: "10.20.0.2", on: ["worker0"] });
  await goTo("late", "tor", "");
  expect(await peersOf("web")).toEqual(["tor", "tor"]);
  await cluster.address("web", []);
  await goTo("web", "", "tor");
  cluster.node(1).startAgent();
  await goTo("web", "", "");
  await goTo("late", "tor", "tor");
});

test("a deleted Service leaves nothing in the cluster, at the peer or in the metrics", async () => {
  await eventually(async () => expect(await cluster.show("bgp ipv4 unicast")).toContain("10.20.0.2/32"));
  const { values } = await speakerAnnounced.get();
  const labels = { service: "shop/late", protocol: "bgp", node: "worker0", ip: "10.20.0.2" };
  expect(values).toContainEqual({ labels, value: 1 });
  await cluster.remove(Service, "late", "shop");
  await eventually(async () => {
    expect(await cluster.names(ServiceBGPStatus)).toEqual([]);
    expect(await cluster.show("bgp ipv4 unicast")).not.toContain("10.20.0.2/32");
  });
  expect((await speakerAnnounced.get()).values.filter(({ labels }) => labels.service === "shop/late")).toEqual([]);
});

test("each announcement has one Event, and a restart records none", async () => {
  await cluster.service("told", { ip: "10.20.0.3", on: ["worker0"] });
  await goTo("told", "tor", "tor");
  await cluster.node(0).stopAgent();
  cluster.node(0).startAgent();
  await eventually(async () => expect(await cluster.node(0).vtysh("show running-config")).toContain("10.20.0.3"));
  await eventually(async () => {
    const { items } = await cluster.client.resource(Event).list({ namespace: "shop", signal });
    // An API server that is slow to hear of its own allocations tells of repairs.
    const recorded = items.filter(({ involvedObject, reason }) => involvedObject.name === "told" && !reason?.startsWith("ClusterIP"));
    expect(recorded.map(({ reason, message, count = 1 }) => `${reason} ${message} ${count}`).sort()).toEqual([
      'nodeAssigned announcing from node "worker0" with protocol "bgp" 1',
      'nodeAssigned announcing from node "worker1" with protocol "bgp" 1',
    ]);
  });
});

test("a deleted Node loses its reports and resets no session; a Service deleted meanwhile is not announced when the Node is back", async () => {
  await cluster.service("short", { ip: "10.20.0.4", on: ["worker0"] });
  await goTo("short", "tor", "tor");
  const routerId = async () => /bgp router-id .*/.exec(await cluster.node(1).vtysh("show running-config"))?.[0];
  const before = await routerId();
  const nodes = cluster.client.resource(Node);
  const { metadata, status } = await nodes.get("worker1", { signal });
  await nodes.delete({ name: "worker1" }, { signal });
  await goTo("told", "tor", "");
  await cluster.remove(Service, "short", "shop");
  await eventually(async () => expect(await cluster.node(1).vtysh("show running-config")).not.toContain("10.20.0.4"));
  expect(await peersOf("told")).toEqual(["tor", ""]);
  expect(await routerId()).toBe(before);
  await nodes.create({ metadata: { name: metadata.name, labels: metadata.labels ?? {} }, spec: {} }, { signal });
  await nodes.patchStatus({ name: "worker1" }, { status: { addresses: status?.addresses ?? [] } }, { signal });
  await goTo("told", "tor", "tor");
});
