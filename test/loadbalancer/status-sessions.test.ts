import { afterAll, beforeAll, expect, test } from "vitest";
import { Node } from "../../src/api/core/node.ts";
import { BFDProfile } from "../../src/api/metallb/bfd-profile.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { eventually, METALLB, SpeakerCluster } from "../support/speaker-cluster.ts";

// BGPSessionStatus of two real speakers whose peer is a real FRR. That nothing is written while nothing changes is in at-rest.test.ts.

const { signal } = new AbortController();
let cluster: SpeakerCluster;

beforeAll(async () => {
  cluster = await SpeakerCluster.start("lb-sessions", 2);
  for (const node of cluster.nodes) node.startAgent();
});
afterAll(() => cluster.stop());

const peer = (more: object = {}) => ({ myASN: 64513, peerASN: 64512, peerAddress: "192.168.50.1", connectTime: "1s", ...more });
const session = (index: number, name = "tor") => cluster.get(BGPSessionStatus, `worker${index}-${name}`);
const sessionState = async (index: number, name = "tor") => {
  const { bgpStatus = "", bfdStatus = "" } = (await session(index, name))?.status ?? {};
  return `${bgpStatus} ${bfdStatus}`;
};
const says = (index: number, expected: string | RegExp, name = "tor") =>
  eventually(async () => expect(await sessionState(index, name)).toMatch(expected));
const allUp = async (bfd = "N/A") => {
  for (const index of cluster.nodes.keys()) await says(index, `Established ${bfd}`);
};

test("a peer that does not answer is reported with FRR's state and BFD N/A, and its status is deleted with the BGPPeer", async () => {
  await cluster.create(BGPPeer, "nobody", peer({ peerAddress: "192.168.50.99" }));
  for (const index of [0, 1]) await says(index, /^(Idle|Connect|Active) N\/A$/, "nobody");
  // FRR goes round through its states once a second.
  await cluster.atRest();
  await cluster.remove(BGPPeer, "nobody");
  await eventually(async () => expect(await cluster.names(BGPSessionStatus)).toEqual([]));
});

test("each node has a session status with labels, owner and start time", async () => {
  // A status has whole seconds, and FRR counts whole seconds.
  const before = Math.floor(Date.now() / 1_000) * 1_000 - 1_000;
  await cluster.create(BGPPeer, "tor", peer());
  await cluster.greet();
  await allUp();
  const { metadata, status } = (await session(1)) as BGPSessionStatus;
  expect(metadata.labels).toEqual({ "metallb.io/node": "worker1", "metallb.io/peer": "tor" });
  expect(metadata.annotations).toMatchObject({ "plumbline.dev/node": "worker1" });
  expect(metadata.ownerReferences).toMatchObject([{ apiVersion: "v1", kind: "Node", name: "worker1" }]);
  expect(status).toMatchObject({
    node: "worker1",
    peer: "tor",
    address: "192.168.50.1",
    conditions: [{ type: "Reported", status: "True" }],
  });
  const since = Date.parse(status?.since ?? "");
  expect(before <= since && since <= Date.now()).toBe(true);
});

test("a session that the peer closes is down only on that node, with the reason, and recovers", async () => {
  await cluster.say("router bgp 64512", "neighbor 192.168.50.10 shutdown");
  await says(0, /^(Idle|Connect|Active|OpenSent|OpenConfirm) N\/A$/);
  await eventually(async () => expect((await session(0))?.status?.lastResetReason).toMatch(/\w/));
  expect(await sessionState(1)).toBe("Established N/A");
  await cluster.say("router bgp 64512", "no neighbor 192.168.50.10 shutdown");
  await allUp();
});

test("BFD is Down while only we have it, and Up when the peer has it too", async () => {
  await cluster.create(BFDProfile, "fast", { receiveInterval: 300, transmitInterval: 300 });
  await cluster.patch(BGPPeer, "tor", { spec: { bfdProfile: "fast" } });
  for (const index of [0, 1]) await says(index, / (Down|Unknown|Init)$/);
  await cluster.greet("bfd");
  await allUp("Up");
  expect(await sessionState(0)).toBe("Established Up");
});

test("a link that goes down ends the session by BFD, and the session recovers with the link", async () => {
  const { netns } = cluster.node(1);
  await cluster.torIp("link", "set", netns, "down");
  await says(1, /^(Idle|Connect|Active|OpenSent|OpenConfirm) /);
  await eventually(async () => expect((await session(1))?.status?.lastResetReason).toMatch(/BFD|Interface|Hold|down/i));
  expect(await sessionState(0)).toBe("Established Up");
  await cluster.torIp("link", "set", netns, "up");
  await allUp("Up");
  await cluster.patch(BGPPeer, "tor", { spec: { bfdProfile: null } });
  await allUp();
});

test("a peer that no longer selects a node leaves no session there", async () => {
  const label = (rack: string | null) =>
    cluster.client.resource(Node).patch({ name: "worker0" }, { metadata: { labels: { rack } } }, { signal });
  await label("a");
  await cluster.patch(BGPPeer, "tor", { spec: { nodeSelectors: [{ matchLabels: { rack: "a" } }] } });
  await eventually(async () => expect(await cluster.names(BGPSessionStatus)).toEqual([`${METALLB}/worker0-tor`]));
  await cluster.patch(BGPPeer, "tor", { spec: { nodeSelectors: null } });
  await allUp();
  await label(null);
});

test("the state is Unknown while FRR does not answer, and current when it is back", async () => {
  const pid = (await cluster.node(0).frrPid("bgpd")) ?? 0;
  process.kill(pid, "SIGKILL");
  await eventually(async () => {
    const { status } = (await session(0)) as BGPSessionStatus;
    expect(status).toMatchObject({ bgpStatus: expect.stringMatching(/Unknown|Idle|Active|Connect/) as string });
  });
  await allUp();
});

test("edits and deletions by others are reverted", async () => {
  await cluster.client
    .resource(BGPSessionStatus)
    .patchStatus({ name: "worker0-tor", namespace: METALLB }, { status: { bgpStatus: "Idle", conditions: null } }, { signal });
  await allUp();
  await cluster.remove(BGPSessionStatus, "worker1-tor");
  await allUp();
  await cluster.patch(BGPSessionStatus, "worker0-tor", { metadata: { labels: { "metallb.io/peer": "other" } } });
  await eventually(async () => expect((await session(0))?.metadata.labels?.["metallb.io/peer"]).toBe("tor"));
});

test("a stopped agent leaves its reports, and a restarted one updates them", async () => {
  await cluster.node(0).stopAgent();
  expect(await sessionState(0)).toBe("Established N/A");
  await cluster.say("router bgp 64512", "neighbor 192.168.50.10 shutdown");
  await cluster.create(BGPPeer, "second", peer({ peerAddress: "192.168.50.98" }));
  cluster.node(0).startAgent();
  await says(0, /^(Idle|Connect|Active|OpenSent|OpenConfirm) N\/A$/);
  await says(0, /^(Idle|Connect|Active|OpenSent|OpenConfirm) N\/A$/, "second");
  await cluster.node(0).stopAgent();
  await cluster.remove(BGPPeer, "second");
  cluster.node(0).startAgent();
  await eventually(async () => expect(await cluster.names(BGPSessionStatus)).toEqual([`${METALLB}/worker0-tor`, `${METALLB}/worker1-tor`]));
});

test("a peer with an IPv6 address and an unnumbered one have status objects with regular names", async () => {
  await cluster.create(BGPPeer, "six", peer({ peerAddress: "2001:db8::1" }));
  await cluster.create(BGPPeer, "wire", { myASN: 64513, dynamicASN: "external", interface: "eth0" });
  for (const index of [0, 1]) {
    await says(index, /^(Idle|Connect|Active) N\/A$/, "six");
    await says(index, /^(Idle|Connect|Active) N\/A$/, "wire");
  }
  expect([(await session(0, "six"))?.status?.address, (await session(0, "wire"))?.status?.address]).toEqual(["2001:db8::1", "eth0"]);
  await cluster.remove(BGPPeer, "six");
  await cluster.remove(BGPPeer, "wire");
  await eventually(async () => expect(await cluster.names(BGPSessionStatus)).toEqual([`${METALLB}/worker0-tor`, `${METALLB}/worker1-tor`]));
});

test("two names that would be the same get a hash each", async () => {
  await cluster.client.resource(Node).create({ metadata: { name: "worker0-tor" }, spec: {} }, { signal });
  await cluster.create(BGPPeer, "tor-tor", peer({ peerAddress: "192.168.50.97" }));
  await eventually(async () => {
    const names = await cluster.names(BGPSessionStatus);
    expect(names).toEqual([
      expect.stringMatching(/worker0-tor$/),
      expect.stringMatching(/worker0-tor-tor-[0-9a-f]{10}$/),
      expect.stringMatching(/worker1-tor$/),
      expect.stringMatching(/worker1-tor-tor$/),
    ]);
  });
});
