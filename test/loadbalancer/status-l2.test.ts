import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Event } from "../../src/api/core/event.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { Node } from "../../src/api/core/node.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { Service } from "../../src/api/core/service.ts";
import type { Condition } from "../../src/api/kind.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../src/api/metallb/l2-advertisement.ts";
import { ServiceL2Status } from "../../src/api/metallb/service-l2-status.ts";
import { l2Heartbeats } from "../../src/loadbalancer/metrics.ts";
import { signingKeyOf } from "../../src/kube/members/agent-lease.ts";
import { membersName } from "../../src/kube/members/members.ts";
import { sharedKeySecretName } from "../../src/loadbalancer/candidate-keys.ts";
import { run } from "../support/frr.ts";
import { eventually, METALLB, OWN, SpeakerCluster } from "../support/speaker-cluster.ts";

// ServiceL2Status of two real speakers on one segment.

const { signal } = new AbortController();
let cluster: SpeakerCluster;

beforeAll(async () => {
  cluster = await SpeakerCluster.start("lb-l2", 2);
  for (const node of cluster.nodes) node.startAgent();
  await cluster.create(IPAddressPool, "pool", { addresses: ["192.168.50.128/25"] });
  await cluster.create(L2Advertisement, "ad");
});
afterAll(() => cluster.stop());

const statusOf = async (service: string) => (await cluster.get(ServiceL2Status, service, "shop"))?.status;
const condition = async (service: string, type = "Announced"): Promise<Condition | undefined> =>
  (await statusOf(service))?.conditions?.find((one) => one.type === type);
/** The node that has the address on one of its links. */
const holder = async (ip: string) => {
  const found = await Promise.all(
    cluster.nodes.map(async (node) => ((await node.ip("-o", "addr", "show")).includes(`${ip}/`) ? [node.name] : [])),
  );
  return found.flat();
};
const isOwned = (service: string, ip: string, node?: string) =>
  eventually(async () => {
    const status = await statusOf(service);
    expect(await condition(service)).toMatchObject({ status: "True", reason: "Announcing" });
    if (node !== undefined) expect(status?.node).toBe(node);
    expect(await holder(ip)).toEqual([status?.node]);
    return status?.node as string;
  });
const other = (node: string) => (node === "worker0" ? "worker1" : "worker0");
const label = (node: string, labels: Record<string, string | null>) =>
  cluster.client.resource(Node).patch({ name: node }, { metadata: { labels } }, { signal });
/** The nodes with Events about missing heartbeats, and their counts. */
const unheard = async () => {
  const { items } = await cluster.client.resource(Event).list({ namespace: METALLB, signal });
  const events = items.filter(({ reason }) => reason === "HeartbeatsMissing");
  return events.map(({ type, involvedObject, count = 1 }) => `${type} ${involvedObject.kind}/${involvedObject.name} ${count}`).sort();
};
const heard = async () => (await l2Heartbeats.get()).values.find(({ labels }) => labels.outcome === "heard")?.value ?? 0;
const nft = (netns: string, ...args: string[]) => run("ip", "netns", "exec", netns, "nft", ...args);
let elected: string;

test("one node has the address and reports it in the ServiceL2Status, with the failover order", async () => {
  await cluster.service("web", { ip: "192.168.50.200", on: ["worker0", "worker1"] });
  elected = await isOwned("web", "192.168.50.200");
  const { metadata, status } = (await cluster.get(ServiceL2Status, "web", "shop")) as ServiceL2Status;
  expect(metadata.labels).toEqual({ "metallb.io/node": elected, "metallb.io/service": "web" });
  expect(metadata.ownerReferences).toMatchObject([{ apiVersion: "v1", kind: "Service", name: "web" }]);
  expect(status).toMatchObject({ service: "web", eligibleNodes: [elected, other(elected)] });
  expect(status).not.toHaveProperty("interfaces");
  expect(await condition("web", "HostProtected")).toBeDefined();
});

test("nothing is written while the owner stays the same", async () => {
  const churn = async () => {
    await cluster.endpoints("web", ["worker1", "worker0"]);
    await cluster.patch(Service, "web", { metadata: { annotations: { touched: "yes" } } }, "shop");
    const conditions = [{ type: "Ready", status: "True", lastTransitionTime: "2026-11-16T05:00:00Z" }];
    await cluster.client.resource(Node).patchStatus({ name: "worker1" }, { status: { conditions } }, { signal });
    await cluster.setMembers(["worker1", "worker0"]);
  };
  // The node that does not answer may only just have begun, and has a configuration to tell of.
  await cluster.atRest();
  expect(await cluster.writesDuring(churn, 4_000)).toEqual([]);
});

test("each node records one Event for candidates without heartbeats", async () => {
  // There is no key.
  const both = ["Warning ConfigurationState/speaker-worker0 1", "Warning ConfigurationState/speaker-worker1 1"];
  await eventually(async () => expect(await unheard()).toEqual(both));
  await sleep(3_000);
  expect(await unheard()).toEqual(both);
});

test("an advertisement for some interfaces lists them, in one order, and one for all lists none", async () => {
  await cluster.patch(L2Advertisement, "ad", { spec: { interfaces: ["eth0", "eth1"] } });
  await eventually(async () => expect((await statusOf("web"))?.interfaces).toEqual([{ name: "eth0" }, { name: "eth1" }]));
  await isOwned("web", "192.168.50.200", elected);
  const reorder = () => cluster.patch(L2Advertisement, "ad", { spec: { interfaces: ["eth1", "eth0"] } });
  expect((await cluster.writesDuring(reorder)).filter((write) => write.includes("servicel2statuses"))).toEqual([]);
  await cluster.patch(L2Advertisement, "ad", { spec: { interfaces: null } });
  await eventually(async () => expect(await statusOf("web")).not.toHaveProperty("interfaces"));
});

test("missing interfaces are reported in the status and as an Event", async () => {
  await cluster.patch(L2Advertisement, "ad", { spec: { interfaces: ["eth7"] } });
  await eventually(async () => expect(await condition("web")).toMatchObject({ status: "False", reason: "Refused" }));
  expect(await holder("192.168.50.200")).toEqual([]);
  await eventually(async () => {
    const { items } = await cluster.client.resource(Event).list({ namespace: "shop", signal });
    const failed = items.filter(({ reason }) => reason === "announceFailed");
    expect(failed.map(({ involvedObject, count = 1 }) => [involvedObject.name, count])).toEqual([["web", 1]]);
  });
  await cluster.patch(L2Advertisement, "ad", { spec: { interfaces: null } });
  await isOwned("web", "192.168.50.200", elected);
});

test("a preferred node takes over, and returns the address when it is no longer preferred", async () => {
  const preferred = other(elected);
  await label(preferred, { fast: "yes" });
  await cluster.patch(L2Advertisement, "ad", {
    spec: { preferredNodeSelectors: [{ weight: 10, preference: { matchLabels: { fast: "yes" } } }] },
  });
  await isOwned("web", "192.168.50.200", preferred);
  expect((await statusOf("web"))?.eligibleNodes).toEqual([preferred, elected]);
  expect((await cluster.get(ServiceL2Status, "web", "shop"))?.metadata.labels?.["metallb.io/node"]).toBe(preferred);
  await label(preferred, { fast: null });
  await isOwned("web", "192.168.50.200", elected);
  await cluster.patch(L2Advertisement, "ad", { spec: { preferredNodeSelectors: null } });
});

test("when the agent of the elected node stops, the other takes over address and status, and returns both", async () => {
  const gone = cluster.nodes.find(({ name }) => name === elected);
  await gone?.stopAgent();
  // The kernel drops the addresses of a killed agent; an agent that ends keeps them for two minutes.
  await gone?.ip("addr", "del", "192.168.50.200/32", "dev", "plumbline-vip");
  await cluster.setMembers([other(elected)]);
  await isOwned("web", "192.168.50.200", other(elected));
  expect((await statusOf("web"))?.eligibleNodes).toEqual([other(elected)]);
  gone?.startAgent();
  await cluster.setMembers(["worker0", "worker1"]);
  await isOwned("web", "192.168.50.200", elected);
});

test("an address in use by another machine is not acquired, and the status has its MAC until it is free", async () => {
  await cluster.torIp("addr", "add", "192.168.50.201/32", "dev", "br0");
  await cluster.service("taken", { ip: "192.168.50.201", on: ["worker0", "worker1"] });
  const { address } = (JSON.parse(await cluster.torIp("-j", "link", "show", "br0")) as { address: string }[])[0] as { address: string };
  await eventually(async () => {
    const observed = await condition("taken");
    expect(observed).toMatchObject({ status: "False", reason: "AddressInUse" });
    expect(observed?.message).toContain(address);
  });
  expect(await cluster.writesDuring(() => Promise.resolve(), 3_000)).toEqual([]);
  await cluster.torIp("addr", "del", "192.168.50.201/32", "dev", "br0");
  await isOwned("taken", "192.168.50.201");
});

test("a machine that takes an address which a node keeps is reported with its MAC while it answers", async () => {
  await cluster.torIp("addr", "add", "192.168.50.201/32", "dev", "br0");
  const { address } = (JSON.parse(await cluster.torIp("-j", "link", "show", "br0")) as { address: string }[])[0] as { address: string };
  await eventually(async () => {
    const observed = await condition("taken", "Conflict");
    expect(observed).toMatchObject({ status: "True", reason: "AddressInUse" });
    expect(observed?.message).toContain(address);
  });
  expect(await condition("taken")).toMatchObject({ status: "True" });
  await cluster.torIp("addr", "del", "192.168.50.201/32", "dev", "br0");
  await eventually(async () => expect(await condition("taken", "Conflict")).toBeUndefined());
});

test("edits and deletions by others are reverted", async () => {
  const one = { name: "web", namespace: "shop" };
  await cluster.client.resource(ServiceL2Status).patchStatus(one, { status: { node: "nowhere", eligibleNodes: [] } }, { signal });
  await isOwned("web", "192.168.50.200", elected);
  await cluster.client.resource(ServiceL2Status).delete(one, { signal });
  await isOwned("web", "192.168.50.200", elected);
  await cluster.patch(ServiceL2Status, "web", { metadata: { labels: { "metallb.io/node": "nowhere" } } }, "shop");
  await eventually(async () =>
    expect((await cluster.get(ServiceL2Status, "web", "shop"))?.metadata.labels?.["metallb.io/node"]).toBe(elected),
  );
});

test("a restarted agent continues and writes nothing", async () => {
  const node = cluster.nodes.find(({ name }) => name === elected);
  const restart = async () => {
    await node?.stopAgent();
    expect(await holder("192.168.50.200")).toEqual([elected]);
    node?.startAgent();
  };
  const writes = await cluster.writesDuring(restart, 6_000);
  expect(writes.filter((write) => write.endsWith("shop/web"))).toEqual([]);
  await isOwned("web", "192.168.50.200", elected);
});

test("a broken or deleted members object removes no address, also across a restart", async () => {
  const node = cluster.nodes.find(({ name }) => name === elected);
  const spoil = async () => {
    await cluster.client.resource(ConfigMap).patch({ name: membersName, namespace: OWN }, { data: { live: "[" } }, { signal });
    await sleep(1_000);
    expect(await holder("192.168.50.200")).toEqual([elected]);
    await cluster.remove(ConfigMap, membersName, OWN);
    await sleep(1_000);
    expect(await holder("192.168.50.200")).toEqual([elected]);
    await node?.stopAgent();
    node?.startAgent();
  };
  const writes = await cluster.writesDuring(spoil, 4_000);
  expect(writes.filter((write) => write.endsWith("shop/web"))).toEqual([]);
  expect(await holder("192.168.50.200")).toEqual([elected]);
  await cluster.setMembers(cluster.nodes.map(({ name }) => name));
  await isOwned("web", "192.168.50.200", elected);
});

test("agents use the shared key of earlier versions, and their own keys once the controller has published them", async () => {
  const data = { key: Buffer.alloc(32, 7).toString("base64") };
  await cluster.client.resource(Secret).create({ metadata: { name: sharedKeySecretName, namespace: OWN }, data }, { signal });
  await eventually(async () => expect(await heard()).toBeGreaterThan(10));
  const { items } = await cluster.client.resource(Lease).list({ namespace: OWN, signal });
  const keys = Object.fromEntries(items.map((lease) => [lease.metadata.name.replace("agent-", ""), signingKeyOf(lease) as string]));
  expect(new Set(Object.values(keys)).size).toBe(2);
  await cluster.setMembers(Object.keys(keys), keys);
  await cluster.remove(Secret, sharedKeySecretName, OWN);
  // Restarted agents never read it.
  const restarted = new Date();
  for (const node of cluster.nodes) {
    await node.stopAgent();
    node.startAgent();
  }
  const before = await heard();
  await eventually(async () => expect(await heard()).toBeGreaterThan(before + 5));
  await isOwned("web", "192.168.50.200", elected);
  expect(await cluster.requestsSince(restarted, "secrets", OWN)).toEqual([]);
});

test("when heartbeats between two live nodes are lost, the announcing one reports it, and the other changes nothing", async () => {
  const rules =
    "add table inet deaf; add chain inet deaf input { type filter hook input priority -10; }; add rule inet deaf input udp dport 7947 drop";
  const cut = async () => {
    for (const { netns } of cluster.nodes) await nft(netns, rules);
    // Three heartbeats, and then the other believes to be elected and finds the address in use.
    await sleep(5_000);
  };
  // One Event reports that no candidate sends heartbeats, and there is no other.
  const writes = await cluster.writesDuring(cut, 10_000);
  expect(writes.filter((write) => write.endsWith("shop/web"))).toEqual(["patch servicel2statuses/status shop/web"]);
  expect(await isOwned("web", "192.168.50.200")).toBe(elected);
  expect((await statusOf("web"))?.eligibleNodes).toEqual([elected]);
  for (const { netns } of cluster.nodes) await nft(netns, "delete", "table", "inet", "deaf");
  await isOwned("web", "192.168.50.200", elected);
});

test("an address that two Services share stays until the last is deleted", async () => {
  const shared = { metadata: { annotations: { "metallb.io/allow-shared-ip": "key" } } };
  await cluster.service("first", { ip: "192.168.50.210", on: ["worker0", "worker1"] });
  await cluster.patch(Service, "first", shared, "shop");
  const node = await isOwned("first", "192.168.50.210");
  await cluster.service("second", { ip: "192.168.50.210", on: ["worker0", "worker1"] });
  await cluster.patch(Service, "second", shared, "shop");
  expect(await isOwned("second", "192.168.50.210")).toBe(node);
  const since = (await condition("second"))?.lastTransitionTime;
  await cluster.remove(Service, "first", "shop");
  await eventually(async () => expect(await statusOf("first")).toBeUndefined());
  await sleep(2_000);
  expect(await holder("192.168.50.210")).toEqual([node]);
  expect(await condition("second")).toMatchObject({ status: "True", lastTransitionTime: since });
  await cluster.remove(Service, "second", "shop");
  await eventually(async () => expect(await holder("192.168.50.210")).toEqual([]));
});

test("a Service that the advertisement does not select has no status, and a deleted one leaves none", async () => {
  await cluster.patch(L2Advertisement, "ad", { spec: { serviceSelectors: [{ matchLabels: { app: "web" } }] } });
  await eventually(async () => {
    expect(await cluster.names(ServiceL2Status)).toEqual([]);
    expect(await holder("192.168.50.200")).toEqual([]);
  });
  await cluster.patch(Service, "web", { metadata: { labels: { app: "web" } } }, "shop");
  await isOwned("web", "192.168.50.200", elected);
  await cluster.patch(Service, "web", { metadata: { annotations: { "metallb.io/allow-shared-ip": "key" } } }, "shop");
  await eventually(async () => expect(await cluster.names(ServiceL2Status)).toEqual([]));
  await cluster.patch(Service, "web", { metadata: { annotations: { "metallb.io/allow-shared-ip": null } } }, "shop");
  await isOwned("web", "192.168.50.200", elected);
  await cluster.remove(Service, "web", "shop");
  await eventually(async () => {
    expect(await cluster.names(ServiceL2Status)).toEqual([]);
    expect(await holder("192.168.50.200")).toEqual([]);
  });
});
