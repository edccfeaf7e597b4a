import { afterAll, beforeAll, expect, test } from "vitest";
import { accessAs } from "../../lab/kube/identities.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Service } from "../../src/api/core/service.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { startController } from "../support/controller.ts";
import { eventually, METALLB, SpeakerCluster } from "../support/speaker-cluster.ts";

// Whether Services are announced, by what a real FRR was seen to send to a real peer.

const { signal } = new AbortController();
const BOTH = ["worker0", "worker1"];
let cluster: SpeakerCluster;
let controller: AsyncDisposable;

beforeAll(async () => {
  cluster = await SpeakerCluster.start("lb-far-end", 2);
  controller = startController(accessAs("controller", cluster.api.access));
  for (const node of cluster.nodes) node.startAgent();
  await cluster.greet();
  await cluster.create(BGPPeer, "tor", { myASN: 64513, peerASN: 64512, peerAddress: "192.168.50.1", connectTime: "1s" });
  await cluster.create(IPAddressPool, "routed", { addresses: ["10.20.0.1-10.20.0.20"] });
  await cluster.create(BGPAdvertisement, "routed", { ipAddressPools: ["routed"] });
  await cluster.service("web", { on: BOTH });
  await cluster.service("mail", { on: BOTH });
});
afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  await cluster.stop();
});

const announced = async (name: string) =>
  (await cluster.get(Service, name, "shop"))?.status?.conditions?.find(({ type }) => type === "metallb.io/Announced");
const addressOf = async (name: string) => (await cluster.get(Service, name, "shop"))?.status?.loadBalancer?.ingress?.[0]?.ip ?? "";
const session = async (index: number) => (await cluster.get(BGPSessionStatus, `worker${index}-tor`))?.status;
const isAnnounced = (name: string, status: "True" | "False", reason: string, message: string) =>
  eventually(async () => expect(await announced(name)).toMatchObject({ status, reason, message }));
const bothAnnounce = (name: string) => isAnnounced(name, "True", "Announced", "BGP: 2 nodes announce it");
const allUp = () =>
  eventually(async () => {
    for (const index of [0, 1]) {
      expect(await session(index)).toMatchObject({ bgpStatus: "Established", prefixes: [{ family: "IPv4", wanted: 2, sent: 2 }] });
    }
  });
const atNeighbors = async (line: string) => {
  for (const index of [0, 1])
    await cluster.say(
      "router bgp 64512",
      `${line.startsWith("no ") ? "no " : ""}neighbor 192.168.50.${10 + index} ${line.replace(/^no /, "")}`,
    );
};

test("each session reports the number of wanted and of sent prefixes", async () => {
  await allUp();
  await bothAnnounce("web");
  expect(await cluster.show("bgp ipv4 unicast")).toContain(await addressOf("web"));
});

test("a Service is not announced while the peer has closed every session", async () => {
  await atNeighbors("shutdown");
  await isAnnounced("web", "False", "rejectedByPeer", "BGP: 0 nodes announce it, 2 not (rejectedByPeer)");
  expect(await session(0)).toMatchObject({ rejection: "Cease/Administrative Shutdown" });
  expect(await session(0)).not.toHaveProperty("prefixes");
  await atNeighbors("no shutdown");
  await allUp();
  expect(await session(0)).not.toHaveProperty("rejection");
  await bothAnnounce("web");
});

test("a Service is not announced while no peer is reachable", async () => {
  for (const { netns } of cluster.nodes) await cluster.torIp("link", "set", netns, "down");
  await cluster.say("router bgp 64512", "end");
  for (const node of cluster.nodes) await node.vtysh("clear bgp *");
  await isAnnounced("web", "False", "sessionDown", "BGP: 0 nodes announce it, 2 not (sessionDown)");
  expect(await session(0)).not.toHaveProperty("rejection");
  for (const { netns } of cluster.nodes) await cluster.torIp("link", "set", netns, "up");
  await allUp();
  await bothAnnounce("web");
});

test("a peer that rejects further prefixes is the reason", async () => {
  for (const index of [0, 1]) {
    await cluster.say("router bgp 64512", "address-family ipv4 unicast", `neighbor 192.168.50.${10 + index} maximum-prefix 1`);
  }
  await isAnnounced("web", "False", "rejectedByPeer", "BGP: 0 nodes announce it, 2 not (rejectedByPeer)");
  expect(await session(1)).toMatchObject({ rejection: "Cease/Maximum Number of Prefixes Reached" });
  for (const index of [0, 1]) {
    await cluster.say("router bgp 64512", "address-family ipv4 unicast", `no neighbor 192.168.50.${10 + index} maximum-prefix 1`);
  }
  await cluster.clear();
  await allUp();
  await bothAnnounce("web");
});

test("a prefix that a route-map filters is reported, and only its Service is not announced", async () => {
  const prefix = `${await addressOf("web")}/32`;
  const extras = [
    `ip prefix-list no-web seq 1 permit ${prefix}`,
    "route-map 192.168.50.1-out deny 1",
    " match ip address prefix-list no-web",
  ];
  await cluster.client
    .resource(ConfigMap)
    .create({ metadata: { name: "bgpextras", namespace: METALLB }, data: { extras: extras.join("\n") } }, { signal });
  await isAnnounced("web", "False", "notSent", "BGP: 0 nodes announce it, 2 not (notSent)");
  for (const index of [0, 1]) {
    expect(await session(index)).toMatchObject({ bgpStatus: "Established", prefixes: [{ wanted: 2, sent: 1, missing: [prefix] }] });
  }
  expect(await announced("mail")).toMatchObject({ status: "True", message: "BGP: 2 nodes announce it" });
  await cluster.client.resource(ConfigMap).delete({ name: "bgpextras", namespace: METALLB }, { signal });
  await allUp();
  await bothAnnounce("web");
});

test("nothing is written without changes, and a flapping session causes no write per Service", async () => {
  await cluster.atRest();
  const writes = await cluster.writesDuring(async () => {
    for (let nth = 0; nth < 6; nth++) {
      await cluster.say("router bgp 64512", "neighbor 192.168.50.10 shutdown");
      await eventually(async () => expect(await cluster.node(0).vtysh("show bgp summary")).toMatch(/Active|Idle|Connect/));
      await cluster.say("router bgp 64512", "no neighbor 192.168.50.10 shutdown");
      await eventually(async () => expect(await cluster.node(0).vtysh("show bgp summary")).not.toMatch(/Active|Idle|Connect|Open/));
    }
  });
  const ofServices = writes.filter((write) => write.includes(" services/status "));
  expect(ofServices.length).toBeLessThan(2 * 6);
  await allUp();
  await bothAnnounce("web");
});

test("a restarted agent keeps its status and writes nothing", async () => {
  await cluster.atRest();
  const writes = await cluster.writesDuring(async () => {
    await cluster.node(0).stopAgent();
    cluster.node(0).startAgent();
    await eventually(async () => expect(await session(0)).toMatchObject({ bgpStatus: "Established" }));
  }, 5_000);
  expect(writes.filter((write) => /bgpsessionstatuses|services/.test(write))).toEqual([]);
});
