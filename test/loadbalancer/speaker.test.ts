import { afterAll, beforeAll, expect, test } from "vitest";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Event } from "../../src/api/core/event.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { BFDProfile } from "../../src/api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { Community } from "../../src/api/metallb/community.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { eventually, METALLB, SpeakerCluster } from "../support/speaker-cluster.ts";

// ConfigurationState, with two real speakers: the cases of the acceptance list, and that nothing is written while nothing changes.

const { signal } = new AbortController();
let cluster: SpeakerCluster;

beforeAll(async () => {
  cluster = await SpeakerCluster.start("lb-speaker", 2);
  await cluster.greet();
  for (const node of cluster.nodes) node.startAgent();
});
afterAll(() => cluster.stop());

const stateOf = (index: number) => cluster.get(ConfigurationState, `speaker-worker${index}`);
/** What both of them say: `Valid`, or the error. */
async function results(): Promise<string[]> {
  const states = await Promise.all([stateOf(0), stateOf(1)]);
  return states.map((state) => {
    const { result = "none", lastError = "" } = state?.status ?? {};
    return result === "Invalid" ? lastError : result;
  });
}
const bothSay = (...expected: string[]) => eventually(async () => expect(await results()).toEqual(expected));
const peer = (more: object = {}) => ({ myASN: 64513, peerASN: 64512, peerAddress: "192.168.50.1", connectTime: "1s", ...more });
const onWorker = (index: number) => ({ nodeSelectors: [{ matchLabels: { "kubernetes.io/hostname": `worker${index}` } }] });
const noProfile = "peer peer1 referencing non existing bfd profile my-bfd-profile";

test("on a fresh cluster each speaker is Valid, with its labels, an empty error and its Node as owner", async () => {
  for (const index of [0, 1]) {
    await cluster.client
      .resource(Node)
      .patch({ name: `worker${index}` }, { metadata: { labels: { "kubernetes.io/hostname": `worker${index}` } } }, { signal });
  }
  await bothSay("Valid", "Valid");
  const { metadata, status } = (await stateOf(1)) as ConfigurationState;
  expect(metadata.labels).toEqual({ "metallb.io/component-type": "speaker", "metallb.io/node-name": "worker1" });
  expect(metadata.ownerReferences).toMatchObject([{ kind: "Node", name: "worker1" }]);
  expect(status).toMatchObject({ lastError: "", conditions: [{ type: "Valid", status: "True", reason: "ConfigurationValid" }] });
});

test("a missing BFD profile is an error until it exists", async () => {
  await cluster.create(BGPPeer, "peer1", peer({ bfdProfile: "my-bfd-profile" }));
  await bothSay(noProfile, noProfile);
  const { status } = (await stateOf(0)) as ConfigurationState;
  expect(status?.failedResources).toMatchObject([{ kind: "BGPPeer", name: "peer1", field: "spec.bfdProfile", class: "Transient" }]);
  expect(status?.resources).toMatchObject([{ kind: "BGPPeer", name: "peer1", observedGeneration: 1, state: "Failed" }]);
  await cluster.create(BFDProfile, "my-bfd-profile", {});
  await bothSay("Valid", "Valid");
});

test("a peer edited to an unknown profile keeps its last good version", async () => {
  await cluster.patch(BGPPeer, "peer1", { spec: { bfdProfile: "other" } });
  const error = "peer peer1 referencing non existing bfd profile other";
  await bothSay(error, error);
  const { status } = (await stateOf(0)) as ConfigurationState;
  expect(status?.resources).toContainEqual({ kind: "BGPPeer", name: "peer1", observedGeneration: 2, state: "KeptPrevious" });
  expect(await cluster.node(0).vtysh("show running-config")).toContain("neighbor 192.168.50.1 bfd profile my-bfd-profile");
  await cluster.patch(BGPPeer, "peer1", { spec: { bfdProfile: null } });
  await bothSay("Valid", "Valid");
});

test("a restarted agent keeps the last good version", async () => {
  await cluster.patch(BGPPeer, "peer1", { spec: { bfdProfile: "gone" } });
  const error = "peer peer1 referencing non existing bfd profile gone";
  await bothSay(error, error);
  await eventually(async () => {
    for (const { status } of (await cluster.all(BGPSessionStatus)).values()) expect(status?.bgpStatus).toBe("Established");
  });
  expect(
    await cluster.writesDuring(async () => {
      await cluster.node(0).stopAgent();
      cluster.node(0).startAgent();
      await eventually(async () => expect(await cluster.node(0).vtysh("show running-config")).toContain("neighbor 192.168.50.1 remote-as"));
    }, 3_000),
  ).toEqual([]);
  expect(await cluster.node(0).vtysh("show running-config")).toContain("neighbor 192.168.50.1 remote-as 64512");
  await cluster.patch(BGPPeer, "peer1", { spec: { bfdProfile: null } });
  await bothSay("Valid", "Valid");
});

test("a Secret of the wrong type makes only the speaker Invalid whose node the peer selects", async () => {
  await cluster.client
    .resource(Secret)
    .create(
      { metadata: { name: "bgp-password", namespace: METALLB }, type: "Opaque", data: { password: btoa("mypassword123") } },
      { signal },
    );
  const secret = { passwordSecret: { name: "bgp-password" }, peerAddress: "192.168.50.2", ...onWorker(0) };
  await cluster.create(BGPPeer, "peer-with-secret", peer(secret));
  const error =
    'parsing peer peer-with-secret secret type mismatch on "metallb-system"/"bgp-password", type "kubernetes.io/basic-auth" is expected \nfailed to parse peer peer-with-secret password secret';
  await bothSay(error, "Valid");
  // The type of a Secret cannot be changed.
  await cluster.remove(Secret, "bgp-password");
  await bothSay(
    'parsing peer peer-with-secret secret ref not found for peer config "metallb-system"/"peer-with-secret"\nfailed to parse peer peer-with-secret password secret',
    "Valid",
  );
  const type = "kubernetes.io/basic-auth";
  await cluster.client
    .resource(Secret)
    .create({ metadata: { name: "bgp-password", namespace: METALLB }, type, data: { password: btoa("s3cret"), username: "" } }, { signal });
  await bothSay("Valid", "Valid");
  expect(await cluster.node(0).vtysh("show running-config")).toContain("neighbor 192.168.50.2 password s3cret");
  await cluster.remove(BGPPeer, "peer-with-secret");
});

test("an unknown community alias is an error of the speakers until it exists", async () => {
  await cluster.create(IPAddressPool, "pool", { addresses: ["10.20.0.0/24"] });
  await cluster.create(BGPAdvertisement, "ad", { communities: ["vpn"] });
  const error = 'invalid community format: vpn\ninvalid community "vpn" in BGP advertisement';
  await eventually(async () => {
    for (const text of await results()) expect(text).toContain(error);
  });
  await cluster.create(Community, "aliases", { communities: [{ name: "vpn", value: "64512:1" }] });
  await bothSay("Valid", "Valid");
});

test("two invalid peers are both reported, each until it is fixed", async () => {
  await cluster.create(BGPPeer, "bad1", peer({ peerAddress: "192.168.50.3", bfdProfile: "none" }));
  await cluster.create(BGPPeer, "bad2", peer({ peerAddress: "192.168.50.4", passwordSecret: { name: "none" } }));
  const first = "peer bad1 referencing non existing bfd profile none";
  const second =
    'parsing peer bad2 secret ref not found for peer config "metallb-system"/"bad2"\nfailed to parse peer bad2 password secret';
  await bothSay(`${first}\n${second}`, `${first}\n${second}`);
  await cluster.remove(BGPPeer, "bad1");
  await bothSay(second, second);
  await cluster.remove(BGPPeer, "bad2");
  await eventually(async () => expect(await results()).toEqual(["Valid", "Valid"]));
});

test("an invalid Secret name counts as a missing Secret and affects no other peer", async () => {
  await cluster.create(BGPPeer, "odd", peer({ peerAddress: "192.168.50.77", passwordSecret: { name: "a,b" } }));
  const notFound = 'secret ref not found for peer config "metallb-system"/"odd"\nfailed to parse peer odd password secret';
  await eventually(async () => expect((await stateOf(0))?.status?.lastError).toContain(notFound));
  await cluster.create(BGPPeer, "fine", peer({ peerAddress: "192.168.50.78" }));
  await eventually(async () => expect(await cluster.node(0).vtysh("show running-config")).toContain("neighbor 192.168.50.78"));
  for (const name of ["odd", "fine"]) await cluster.remove(BGPPeer, name);
});

test("two peers with one address are accepted on different nodes, and conflict when a label change puts them on one", async () => {
  await cluster.create(BGPPeer, "left", peer({ peerAddress: "192.168.50.5", ...onWorker(0) }));
  await cluster.create(BGPPeer, "right", peer({ peerAddress: "192.168.50.5", nodeSelectors: [{ matchLabels: { side: "right" } }] }));
  await bothSay("Valid", "Valid");
  const label = (side: string | null) =>
    cluster.client.resource(Node).patch({ name: "worker0" }, { metadata: { labels: { side } } }, { signal });
  await label("right");
  await eventually(async () => {
    const [at0, at1] = await results();
    expect(at0).toContain("192.168.50.5 already exists");
    expect(at1).toBe("Valid");
  });
  await label(null);
  await bothSay("Valid", "Valid");
  for (const name of ["left", "right"]) await cluster.remove(BGPPeer, name);
});

test("a deleted or edited ConfigurationState is restored", async () => {
  await cluster.patch(BGPPeer, "peer1", { spec: { bfdProfile: "my-bfd" } });
  const error = "peer peer1 referencing non existing bfd profile my-bfd";
  await bothSay(error, error);
  for (const index of [0, 1]) await cluster.remove(ConfigurationState, `speaker-worker${index}`);
  await bothSay(error, error);
  await cluster.client
    .resource(ConfigurationState)
    .patchStatus(
      { name: "speaker-worker0", namespace: METALLB },
      { status: { result: "Valid", lastError: "", failedResources: null } },
      { signal },
    );
  await bothSay(error, error);
  await cluster.patch(ConfigurationState, "speaker-worker0", { metadata: { labels: { "metallb.io/node-name": "worker7" } } });
  await eventually(async () => expect((await stateOf(0))?.metadata.labels?.["metallb.io/node-name"]).toBe("worker0"));
  await cluster.patch(BGPPeer, "peer1", { spec: { bfdProfile: null } });
  await bothSay("Valid", "Valid");
});

test("a line that FRR rejects fails its resource with FRR's message, and the rest is applied", async () => {
  const extras = {
    metadata: { name: "bgpextras", namespace: METALLB },
    data: { extras: "router bgp 64513\n neighbor nobody frobnicate\n" },
  };
  await cluster.client.resource(ConfigMap).create(extras, { signal });
  await eventually(async () => {
    const { status } = (await stateOf(0)) as ConfigurationState;
    expect(status?.failedResources).toMatchObject([{ kind: "ConfigMap", name: "bgpextras", reason: "ApplicationFailed" }]);
    expect(status?.lastError).toContain("frobnicate");
  });
  await cluster.patch(BGPPeer, "peer1", { spec: { holdTime: "60s", keepaliveTime: "20s" } });
  await eventually(async () => expect(await cluster.node(0).vtysh("show running-config")).toContain("neighbor 192.168.50.1 timers 20 60"));
  await cluster.remove(ConfigMap, "bgpextras");
  await bothSay("Valid", "Valid");
});

test("irrelevant changes cause no write: heartbeats of nodes, statuses of pools, other Secrets and namespaces", async () => {
  await bothSay("Valid", "Valid");
  // A session is reported a moment after FRR has it.
  await cluster.atRest();
  expect(
    await cluster.writesDuring(async () => {
      for (let beat = 0; beat < 5; beat++) {
        const conditions = [
          { type: "Ready", status: "True", lastHeartbeatTime: `2026-11-16T05:00:0${beat}Z`, lastTransitionTime: "2026-11-16T05:00:00Z" },
        ];
        await cluster.client.resource(Node).patchStatus({ name: "worker0" }, { status: { conditions } }, { signal });
        const status = { assignedIPV4: beat, assignedIPV6: 0, availableIPV4: 256 - beat, availableIPV6: 0 };
        await cluster.client.resource(IPAddressPool).patchStatus({ name: "pool", namespace: METALLB }, { status }, { signal });
        await cluster.patch(BGPPeer, "peer1", { metadata: { annotations: { touched: String(beat) } } });
      }
      await cluster.client
        .resource(Secret)
        .create({ metadata: { name: "unrelated", namespace: METALLB }, data: { password: btoa("x") } }, { signal });
      await cluster.client.resource(Namespace).patch({ name: "shop" }, { metadata: { labels: { touched: "yes" } } }, { signal });
      await cluster.patch(Secret, "bgp-password", { data: { username: btoa("someone") } });
    }),
  ).toEqual([]);
});

test("the statuses of a deleted Node are deleted and not created again", async () => {
  await cluster.client.resource(Node).delete({ name: "worker1" }, { signal });
  await eventually(async () => expect(await cluster.node(1).vtysh("show running-config")).toContain("neighbor 192.168.50.1"));
  // There is no garbage collector in this cluster.
  await cluster.remove(ConfigurationState, "speaker-worker1");
  await cluster.remove(BGPSessionStatus, "worker1-peer1");
  await cluster.patch(BGPPeer, "peer1", { spec: { connectTime: "7s" } });
  await eventually(async () => expect(await cluster.node(0).vtysh("show running-config")).toContain("timers connect 7"));
  expect([await stateOf(1), await cluster.get(BGPSessionStatus, "worker1-peer1")]).toEqual([undefined, undefined]);
});

test("no Event is recorded twice", async () => {
  const { items } = await cluster.client.resource(Event).list({ signal });
  // An API server that is slow to hear of its own allocations tells of repairs.
  expect(items.filter(({ count = 1, reason = "" }) => count > 1 && !reason.startsWith("ClusterIP"))).toEqual([]);
});
