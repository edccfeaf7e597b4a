import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { accessAs } from "../../lab/kube/identities.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { BFDProfile } from "../../src/api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { Community } from "../../src/api/metallb/community.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../src/api/metallb/configuration-status.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { Node } from "../../src/api/core/node.ts";
import { startController } from "../support/controller.ts";
import { eventually, METALLB, SpeakerCluster } from "../support/speaker-cluster.ts";
import { configureWebhooks, type RunningWebhook, startWebhook } from "../support/webhook.ts";

// With the webhooks of deploy/ on, the controller and two speakers: what only another object can fix is admitted, told by the speakers while
// it lasts, and gone when that object comes.

const { signal } = new AbortController();
let cluster: SpeakerCluster;
let controller: AsyncDisposable;
let webhook: RunningWebhook;

beforeAll(async () => {
  cluster = await SpeakerCluster.start("lb-transient", 2);
  for (const { name } of cluster.nodes) {
    const labels = { "kubernetes.io/hostname": name };
    await cluster.client.resource(Node).patch({ name }, { metadata: { labels } }, { signal });
  }
  await cluster.greet();
  webhook = await startWebhook(cluster.api.access);
  await configureWebhooks(cluster.client, webhook, signal);
  // The API server loads webhooks with a delay; until then it accepts anything.
  await vi.waitUntil(async () => (await webhookError()) !== undefined, { timeout: 60_000, interval: 100 });
  controller = startController(accessAs("controller", cluster.api.access));
  for (const node of cluster.nodes) node.startAgent();
  await cluster.create(IPAddressPool, "pool", { addresses: ["10.20.0.0/24"] });
});
afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  await webhook.end();
  await cluster.stop();
});
afterEach(async () => {
  for (const kind of [BGPPeer, BGPAdvertisement, BFDProfile, Community]) {
    for (const { metadata } of (await cluster.all(kind as typeof BGPPeer)).values()) {
      // The webhook may still see the peer that used a profile.
      await vi.waitFor(() => cluster.remove(kind, metadata.name), { timeout: 60_000, interval: 50 });
    }
  }
  await cluster.client
    .resource(Secret)
    .delete({ name: "later", namespace: METALLB }, { signal })
    .catch(() => undefined);
  await allValid();
  await noSessions();
});

/** What the webhook says to a pool that no one can fix; undefined while it says nothing. */
async function webhookError(): Promise<string | undefined> {
  try {
    await cluster.create(IPAddressPool, "nonsense", { addresses: ["nonsense"] });
  } catch (error) {
    return String(error);
  }
  await cluster.remove(IPAddressPool, "nonsense");
  return undefined;
}

const peer = (more: object = {}) => ({ myASN: 64513, peerASN: 64512, peerAddress: "192.168.50.1", connectTime: "1s", ...more });
const on = (name: string) => ({ nodeSelectors: [{ matchLabels: { "kubernetes.io/hostname": name } }] });
const secret = (type: string, data: Record<string, string>) =>
  cluster.client.resource(Secret).create({ metadata: { name: "later", namespace: METALLB }, type, data }, { signal });
const stateOf = async (component: string) => (await cluster.get(ConfigurationState, component))?.status;

/** What each component says, `Valid` or the error: the controller and the two speakers, who alone read peers and advertisements; and what all of that adds up to. */
async function results(): Promise<string[]> {
  const lines = await Promise.all(
    ["controller", "speaker-worker0", "speaker-worker1"].map(async (component) => {
      const { result = "none", lastError = "" } = (await stateOf(component)) ?? {};
      return result === "Invalid" ? lastError : result;
    }),
  );
  const { validConfig, invalidComponents = [] } = (await cluster.get(ConfigurationStatus, "config-status"))?.status ?? {};
  return [...lines, validConfig === true ? "valid" : `not valid: ${invalidComponents.join(" ")}`];
}
const allValid = () => eventually(async () => expect(await results()).toEqual(["Valid", "Valid", "Valid", "valid"]));
const bothSay = (error: string) =>
  eventually(async () => expect(await results()).toEqual(["Valid", error, error, "not valid: speaker-worker0 speaker-worker1"]));
const noSessions = () => eventually(async () => expect(await cluster.names(BGPSessionStatus)).toEqual([]));
const established = () =>
  eventually(async () => {
    for (const { status } of (await cluster.all(BGPSessionStatus)).values()) expect(status?.bgpStatus).toBe("Established");
    expect(await cluster.names(BGPSessionStatus)).toHaveLength(2);
  });

const noProfile = "peer first referencing non existing bfd profile later";
const noSecret =
  'parsing peer first secret ref not found for peer config "metallb-system"/"first"\nfailed to parse peer first password secret';

test("the webhook rejects objects that are invalid by themselves", async () => {
  expect(await webhookError()).toContain('invalid CIDR "nonsense" in pool "nonsense"');
  await expect(cluster.create(BGPPeer, "zero", peer({ myASN: 0 }))).rejects.toThrow("parsing peer zero missing local ASN");
  await allValid();
});

test("a BFD profile may be created after its peer", async () => {
  await cluster.create(BGPPeer, "first", peer({ bfdProfile: "later" }));
  await bothSay(noProfile);
  expect((await stateOf("speaker-worker0"))?.failedResources).toMatchObject([{ kind: "BGPPeer", name: "first", class: "Transient" }]);
  await cluster.create(BFDProfile, "later", {});
  await allValid();
  await established();
});

test("a peer that is edited to a missing profile keeps its session meanwhile", async () => {
  await cluster.create(BGPPeer, "first", peer());
  await established();
  const since = (await cluster.get(BGPSessionStatus, "worker0-first"))?.status?.since;
  await cluster.patch(BGPPeer, "first", { spec: { bfdProfile: "later" } });
  await bothSay(noProfile);
  expect((await stateOf("speaker-worker0"))?.resources).toContainEqual(
    expect.objectContaining({ kind: "BGPPeer", name: "first", state: "KeptPrevious" }),
  );
  expect((await cluster.get(BGPSessionStatus, "worker0-first"))?.status?.since).toBe(since);
  await cluster.create(BFDProfile, "later", {});
  await allValid();
});

test("a Secret that is missing, of the wrong type or without a password is reported as such", async () => {
  await cluster.say("router bgp 64512", "neighbor 192.168.50.10 password s3cret", "neighbor 192.168.50.11 password s3cret");
  await cluster.create(BGPPeer, "first", peer({ passwordSecret: { name: "later" } }));
  await bothSay(noSecret);
  await secret("Opaque", { password: btoa("s3cret") });
  await bothSay(
    'parsing peer first secret type mismatch on "metallb-system"/"later", type "kubernetes.io/basic-auth" is expected \nfailed to parse peer first password secret',
  );
  await cluster.remove(Secret, "later");
  await bothSay(noSecret);
  await secret("kubernetes.io/basic-auth", { username: btoa("someone") });
  await bothSay(
    'parsing peer first password not specified in the secret "metallb-system"/"later"\nfailed to parse peer first password secret',
  );
  await cluster.patch(Secret, "later", { data: { password: btoa("s3cret") } });
  await allValid();
  await established();

  // Gone again, the peer keeps the password that it had.
  await cluster.remove(Secret, "later");
  await bothSay(noSecret);
  await established();
  expect(await cluster.node(0).vtysh("show running-config")).toContain("neighbor 192.168.50.1 password s3cret");
  await cluster.say("router bgp 64512", "no neighbor 192.168.50.10 password", "no neighbor 192.168.50.11 password");
});

test("a community alias may be created after its advertisement", async () => {
  await cluster.create(BGPPeer, "first", peer());
  await cluster.create(BGPAdvertisement, "ad", { communities: ["later"] });
  const error = 'invalid community format: later\ninvalid community "later" in BGP advertisement';
  await bothSay(error);
  await cluster.service("web", {});
  // No address is announced with only some of its communities.
  await established();
  expect(await cluster.show("bgp ipv4 unicast")).not.toContain("10.20.0.");
  await cluster.create(Community, "aliases", { communities: [{ name: "later", value: "64512:7" }] });
  await allValid();
  await eventually(async () => expect(await cluster.show("bgp ipv4 unicast 10.20.0.0/32")).toContain("Community: 64512:7"));
});

test("all missing objects are reported at once, each until it exists", async () => {
  await cluster.create(BGPPeer, "first", peer({ passwordSecret: { name: "later" } }));
  await cluster.create(BGPPeer, "another", peer({ peerAddress: "192.168.50.2", bfdProfile: "later" }));
  const profile = "peer another referencing non existing bfd profile later";
  await bothSay(`${profile}\n${noSecret}`);
  const missing = (await stateOf("speaker-worker1"))?.failedResources?.map(({ name, class: heals }) => `${name} ${heals}`);
  expect(missing).toEqual(["another Transient", "first Transient"]);
  await cluster.create(BFDProfile, "later", {});
  await bothSay(noSecret);
  await secret("kubernetes.io/basic-auth", { password: btoa("s3cret"), username: "" });
  await allValid();
});

test("a node with a complete peer is Valid beside one with an incomplete peer", async () => {
  await cluster.create(BGPPeer, "fine", peer(on("worker0")));
  await cluster.create(BGPPeer, "first", peer({ ...on("worker1"), bfdProfile: "later" }));
  await eventually(async () => expect(await results()).toEqual(["Valid", "Valid", noProfile, "not valid: speaker-worker1"]));
  await cluster.create(BFDProfile, "later", {});
  await allValid();
  await established();
});

const uids = async () => [...(await cluster.all(ConfigurationState)).values()].map(({ metadata }) => metadata.uid);
async function deleteStates(): Promise<void> {
  const before = await uids();
  for (const { metadata } of (await cluster.all(ConfigurationState)).values()) await cluster.remove(ConfigurationState, metadata.name);
  await eventually(async () => {
    const now = await uids();
    expect(now).toHaveLength(before.length);
    for (const uid of now) expect(before).not.toContain(uid);
  });
}

test("deleted ConfigurationStates are restored, while an object is missing and afterwards", async () => {
  await cluster.create(BGPPeer, "first", peer({ bfdProfile: "later" }));
  await bothSay(noProfile);
  await deleteStates();
  await bothSay(noProfile);
  await cluster.create(BFDProfile, "later", {});
  await allValid();
  await deleteStates();
  await allValid();
  expect(await cluster.names(ConfigurationState)).toHaveLength(3);
});
