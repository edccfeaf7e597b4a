import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseAddress } from "../../ip/address.ts";
import { createLog } from "../../kube/log.ts";
import { speakerAnnounced } from "../metrics.ts";
import type { Failure } from "../../resilience/failure.ts";
import { node as nodeView, service } from "../testing/announcement-fixtures.ts";
import { bgpAd, l2Ad, peer, pool, secret } from "../testing/config-fixtures.ts";
import type { ConfigurationResult } from "../status/configuration-state.ts";
import { NOTHING_REJECTED } from "./bgp/rejected.ts";
import { SpeakerStateStore } from "./stored-decisions.ts";
import { SpeakerHarness } from "../testing/speaker-harness.ts";

const { signal } = new AbortController();
const log = createLog({ level: "silent" });
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "plumbline-speaker-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const rejection = (name: string): Failure => ({
  kind: "BGPPeer",
  name,
  namespace: "metallb-system",
  reason: "ApplicationFailed",
  field: "",
  message: "bgpd rejected it",
  class: "Permanent",
});

const announcedBy = async (service: string) =>
  (await speakerAnnounced.get()).values.filter(({ labels }) => labels.service === service).map(({ labels }) => labels.ip);
const withSecret = (name: string, address: string) => peer(name, { peerAddress: address, passwordSecret: { name: "s" } });
const network = { pools: [pool("pool", ["10.0.0.0/24"])], bgpAdvertisements: [bgpAd("ad")] };

test("without peers FRR is not configured, and the configuration is in effect", async () => {
  const harness = new SpeakerHarness(directory);
  await harness.load(network);
  await harness.speaker.carryOutBgp(signal);
  expect(harness.passes).toEqual([]);
  expect(harness.last).toMatchObject({ finding: { failures: [] }, impairment: undefined });
});

test("sessions without saved state are removed if no peer is configured", async () => {
  const harness = new SpeakerHarness(directory);
  harness.spoken = [{ vrf: "default", neighbor: "192.0.2.1", state: "Established", bfd: "N/A" }];
  await harness.load(network);
  await harness.speaker.carryOutBgp(signal);
  expect(harness.passes).toEqual([[]]);
});

test("the session state of a removed peer is dropped", async () => {
  const harness = new SpeakerHarness(directory);
  await harness.load({
    ...network,
    peers: [peer("tor", { peerAddress: "192.0.2.1" }), peer("red", { peerAddress: "192.0.2.1", vrf: "red" })],
  });
  await harness.speaker.carryOutBgp(signal);
  await harness.load({ ...network, peers: [peer("tor", { peerAddress: "192.0.2.1" })] });
  await harness.speaker.carryOutBgp(signal);
  await harness.load(network);
  await harness.speaker.carryOutBgp(signal);
  expect(harness.forgotten).toEqual([[], ["red 192.0.2.1"], ["default 192.0.2.1"]]);
});

test("the configuration is not reported before it is applied", async () => {
  const harness = new SpeakerHarness(directory);
  await harness.load({ ...network, peers: [peer("tor")] });
  harness.speaker.publish();
  expect(harness.last).toEqual({ finding: undefined, impairment: undefined });
  await harness.speaker.carryOutBgp(signal);
  expect(harness.states()).toMatchObject({ "BGPPeer/tor": "Applied" });
});

test("a peer that FRR rejects fails or keeps its previous version, and does not become last good", async () => {
  const harness = new SpeakerHarness(directory);
  await harness.load({ ...network, peers: [peer("tor")] });
  await harness.speaker.carryOutBgp(signal);
  const good = (await harness.memory.lastGood()).get("BGPPeer/tor");
  expect(good).toMatchObject({ generation: 1 });

  harness.failures = [rejection("tor"), rejection("new")];
  await harness.load({
    ...network,
    peers: [peer("tor", { peerPort: 1790 }, { generation: 2 }), peer("new", { peerAddress: "192.0.2.9" })],
  });
  await harness.speaker.carryOutBgp(signal);
  expect(harness.states()).toMatchObject({ "BGPPeer/tor": "KeptPrevious", "BGPPeer/new": "Failed" });
  expect(harness.last?.finding?.failures).toHaveLength(2);
  expect((await harness.memory.lastGood()).get("BGPPeer/tor")).toEqual(good);
  expect((await harness.memory.lastGood()).has("BGPPeer/new")).toBe(false);
});

test("an advertisement with a prefix left out is AppliedInPart", async () => {
  const harness = new SpeakerHarness(directory);
  const about = { kind: "BGPAdvertisement", name: "ad", field: "spec", message: "local preference 200 is left out" };
  harness.failures = [{ ...rejection("ad"), ...about, reason: "ValidationFailed" }];
  await harness.load({ ...network, peers: [peer("tor")] });
  await harness.speaker.carryOutBgp(signal);
  expect(harness.states()).toMatchObject({ "BGPAdvertisement/ad": "AppliedInPart" });
  harness.failures = [{ ...rejection("ad"), ...about, reason: "ApplicationFailed" }];
  await harness.speaker.carryOutBgp(signal);
  expect(harness.states()).toMatchObject({ "BGPAdvertisement/ad": "Failed" });
});

test("a Service is not reported for a rejected peer, nor for a peer from which its prefix is left out", async () => {
  const harness = new SpeakerHarness(directory);
  harness.speaker.service("shop/web", service(["10.0.0.1"], { key: "shop/web" }));
  harness.speaker.service("shop/api", service(["10.0.0.2"], { key: "shop/api" }));
  await harness.load({ ...network, peers: [peer("tor"), peer("bad", { peerAddress: "192.0.2.2" })] });
  expect(harness.services.get("shop/web")).toEqual(["bad", "tor"]);
  harness.rejections = { ...NOTHING_REJECTED, peers: new Set(["bad"]) };
  await harness.speaker.carryOutBgp(signal);
  expect([...harness.services.values()]).toEqual([["tor"], ["tor"]]);
  const leftOut = new Map([["shop/web", [{ advertisement: "ad", prefix: "10.0.0.1/32", peers: ["tor"] }]]]);
  harness.rejections = { peers: new Set(["bad"]), services: new Set(["shop/api"]), leftOut };
  await harness.speaker.carryOutBgp(signal);
  expect([...harness.services.values()]).toEqual([[], []]);
  harness.rejections = NOTHING_REJECTED;
  await harness.speaker.carryOutBgp(signal);
  expect([...harness.services.values()]).toEqual([
    ["bad", "tor"],
    ["bad", "tor"],
  ]);
});

test("an unavailable FRR changes no result, is reported with its error, and is retried", async () => {
  const harness = new SpeakerHarness(directory);
  harness.broken = new Error("zebra does not answer");
  await harness.load({ ...network, peers: [peer("tor")] });
  expect(await harness.speaker.carryOutBgp(signal)).toMatchObject({ requeueAfter: expect.any(Number) as number });
  expect(harness.last).toMatchObject({
    finding: { failures: [] },
    impairment: { reason: "FRRUnavailable", message: "Cannot configure FRR: zebra does not answer" },
  });
  harness.broken = undefined;
  expect(await harness.speaker.carryOutBgp(signal)).toBeUndefined();
  expect(harness.last?.impairment).toBeUndefined();
});

test("an unreadable Secret affects only its peers: one keeps its last good version, one is not applied, and both are named", async () => {
  const harness = new SpeakerHarness(directory);
  await harness.load({ ...network, peers: [withSecret("tor", "192.0.2.1")], secrets: [secret("s")] });
  await harness.speaker.carryOutBgp(signal);
  const peers = [withSecret("tor", "192.0.2.1"), withSecret("new", "192.0.2.2"), peer("plain", { peerAddress: "192.0.2.3" })];
  const lost = { reason: "ConfigurationUnreadable", message: "Access denied: bfdprofiles" } as const;
  const unread = "Access to Secret s denied: BGPPeer new is not applied, BGPPeer tor keeps its last good version";
  for (const [impairment, expected] of [
    [undefined, { reason: "SecretUnreadable", message: unread }],
    [lost, { reason: "ConfigurationUnreadable", message: `${lost.message}; ${unread}` }],
  ] as const) {
    await harness.load({ ...network, peers, unreadable: ["s"] }, impairment);
    expect(await harness.speaker.carryOutBgp(signal)).toBeUndefined();
    expect(harness.passes.at(-1)).toEqual(["plain", "tor"]);
    expect(harness.last).toMatchObject({ finding: { failures: [], unread: [{ name: "new" }, { name: "tor" }] }, impairment: expected });
  }
  await harness.load({ ...network, peers, secrets: [secret("s")] });
  await harness.speaker.carryOutBgp(signal);
  expect(harness.passes.at(-1)).toEqual(["new", "plain", "tor"]);
  expect(harness.last?.impairment).toBeUndefined();
});

test("each new Service takes one decision, and all of them one BGP pass", async () => {
  const harness = new SpeakerHarness(directory);
  await harness.load({ ...network, peers: [peer("tor")] });
  harness.rung.length = 0;
  for (const name of ["web", "api"]) harness.speaker.service(`shop/${name}`, service(["10.0.0.1"], { key: `shop/${name}` }));
  expect(harness.rung).toEqual(["bgp", "bgp"]);
  expect([...harness.services]).toEqual([
    ["shop/web", ["tor"]],
    ["shop/api", ["tor"]],
  ]);
  await harness.speaker.carryOutBgp(signal);
  expect(harness.passes.at(-1)).toEqual(["tor", "shop/web", "shop/api"]);
  harness.rung.length = 0;
  harness.speaker.service("shop/web", service(["10.0.0.1"], { key: "shop/web" }));
  expect(harness.rung).toEqual([]);
});

test("addresses stay until the live members are known, and while they are no longer reported", async () => {
  const harness = new SpeakerHarness(directory);
  harness.speaker.service("shop/web", service(["10.0.0.1"], { key: "shop/web" }));
  await harness.speaker.members(undefined);
  await harness.load({ ...network, l2Advertisements: [l2Ad("l2")] });
  await harness.memory.keep({ addresses: [{ address: parseAddress("10.0.0.9"), service: "shop/before", candidates: ["a"] }] });
  await harness.speaker.carryOutL2();
  expect(harness.wanted).toEqual([["10.0.0.9"]]);
  await harness.speaker.members(new Set(["a"]));
  await harness.speaker.carryOutL2();
  await harness.speaker.members(undefined);
  await harness.speaker.carryOutL2();
  expect(harness.wanted).toEqual([["10.0.0.9"], ["10.0.0.1"], ["10.0.0.1"]]);
  await harness.speaker.members(new Set());
  await harness.speaker.carryOutL2();
  expect(harness.wanted.at(-1)).toEqual([]);
});

test("a layer 2 status of an earlier run stays until the addresses are observed", async () => {
  const harness = new SpeakerHarness(directory);
  harness.hasL2Report = true;
  harness.addressState = { is: "standby" };
  harness.speaker.service("shop/web", service(["10.0.0.1"], { key: "shop/web" }));
  await harness.speaker.members(new Set(["a"]));
  await harness.load({ ...network, l2Advertisements: [l2Ad("l2")] });
  expect(harness.l2).toEqual(["adopt shop/web", "sweep"]);
  harness.addressState = { is: "holding", since: new Date(), interfaces: ["eth0"] };
  await harness.speaker.publishHolders();
  expect(harness.l2.at(-1)).toBe("say shop/web");
});

test("the heartbeat history of an agent is restored by the next one before any address is wanted", async () => {
  const before = new SpeakerHarness(directory);
  await before.load({ ...network, l2Advertisements: [l2Ad("l2")] });
  await before.speaker.members(new Set(["a"]));
  await before.speaker.carryOutL2();
  expect([before.remembered, before.wanted]).toEqual([[], [[]]]);
  const after = new SpeakerHarness(directory);
  await after.speaker.carryOutL2();
  expect([after.remembered, after.wanted]).toEqual([[["b", "silent"]], [[]]]);
});

test("BGP ignores a Node object that is briefly gone, and follows its new address", async () => {
  const harness = new SpeakerHarness(directory);
  await harness.load({ ...network, peers: [peer("tor")] });
  harness.rung.length = 0;
  const here = new Map([["a", nodeView("a")]]);
  for (const [nodes, address] of [
    [here, "192.0.2.10"],
    [new Map(), undefined],
    [here, "192.0.2.10"],
    [here, "192.0.2.11"],
  ] as const) {
    await harness.speaker.updateNodes(nodes, address);
    await harness.speaker.carryOutBgp(signal);
  }
  expect(harness.knownAs).toEqual(["192.0.2.10", "192.0.2.10", "192.0.2.10", "192.0.2.11"]);
});

test("a Service without peers is not announced, and each address goes only to peers of its family", async () => {
  const harness = new SpeakerHarness(directory);
  const pools = [pool("pool", ["10.0.0.0/24", "2001:db8::/120"])];
  harness.speaker.service("shop/unheard", service(["10.0.0.1", "2001:db8::1"], { key: "shop/unheard" }));
  await harness.load({ ...network, pools });
  expect([harness.events, await announcedBy("shop/unheard")]).toEqual([[], []]);
  await harness.load({ ...network, pools, peers: [peer("tor")] });
  expect(harness.events).toEqual(['announcing from node "a" with protocol "bgp"']);
  expect(await announcedBy("shop/unheard")).toEqual(["10.0.0.1"]);
});

test("a state file that cannot be written affects no announcement, and is reported in the condition and by one Event", async () => {
  const harness = new SpeakerHarness(directory);
  const inTheWay = join(directory, "loadbalancer.json.new");
  mkdirSync(join(inTheWay, "in-the-way"), { recursive: true });
  harness.speaker.service("shop/web", service(["10.0.0.1"], { key: "shop/web" }));
  await harness.speaker.members(new Set(["a"]));
  await harness.load({ ...network, l2Advertisements: [l2Ad("l2")] });
  harness.events.length = 0;
  for (let pass = 0; pass < 2; pass++) await harness.speaker.carryOutL2();
  expect(harness.wanted).toEqual([["10.0.0.1"], ["10.0.0.1"]]);
  const reason = "StateFileError";
  const message = expect.stringContaining("loadbalancer.json cannot be written: ") as string;
  expect(harness.last?.impairment).toEqual({ reason, message });
  expect(await harness.speaker.carryOutBgp(signal)).toMatchObject({ requeueAfter: expect.any(Number) as number });
  expect(harness.last).toEqual({
    finding: expect.objectContaining({ failures: [] }) as ConfigurationResult,
    impairment: { reason, message },
  });
  expect(harness.events).toEqual([expect.stringMatching(/^Node a: .* but the next agent starts without this state$/)]);

  rmSync(inTheWay, { recursive: true });
  expect(await harness.speaker.carryOutBgp(signal)).toBeUndefined();
  expect([harness.last?.impairment, harness.events.length]).toEqual([undefined, 2]);
  // The state that could not be written before is on disk now.
  expect(await new SpeakerStateStore(directory, log).addresses()).toMatchObject([{ service: "shop/web" }]);
});

test("an agent that stops in the middle of a pass leaves the FRR state on disk", async () => {
  const harness = new SpeakerHarness(directory);
  await harness.speaker.saveState();
  await harness.load({ ...network, peers: [peer("tor")] });
  await harness.speaker.carryOutBgp(signal);
  harness.applied.push({ owner: "BGPPeer/half", lines: [] });
  harness.broken = new Error("cut");
  await expect(harness.speaker.carryOutBgp(AbortSignal.abort(harness.broken))).rejects.toBe(harness.broken);
  await harness.speaker.saveState();
  expect(harness.bootFileWrites).toBe(1);
  expect((await new SpeakerStateStore(directory, log).applied()).map(({ owner }) => owner)).toEqual(["BGPPeer/tor", "BGPPeer/half"]);
});

test("an Event of an earlier run is not recorded again, unless the Service is a new one of that name", async () => {
  const harness = new SpeakerHarness(directory);
  harness.hasBgpReport = true;
  const web = service(["10.0.0.1"], { key: "shop/web" });
  harness.speaker.service("shop/web", web);
  await harness.load({ ...network, peers: [peer("tor")] });
  expect(harness.events).toEqual([]);
  harness.speaker.service("shop/web", undefined);
  harness.speaker.service("shop/web", { ...web, uid: "another" });
  expect(harness.events).toEqual(['announcing from node "a" with protocol "bgp"']);
});

test("a layer 2 Event of an earlier run is not recorded again, unless the Service is a new one of that name", async () => {
  const harness = new SpeakerHarness(directory);
  harness.hasL2Report = true;
  harness.addressState = { is: "holding", since: new Date(), interfaces: ["eth0"] };
  const web = service(["10.0.0.1"], { key: "shop/web" });
  harness.speaker.service("shop/web", web);
  await harness.speaker.members(new Set(["a"]));
  await harness.load({ ...network, l2Advertisements: [l2Ad("l2")] });
  expect(harness.events).toEqual([]);
  harness.speaker.service("shop/web", undefined);
  harness.speaker.service("shop/web", { ...web, uid: "another" });
  expect(harness.events).toEqual(['announcing from node "a" with protocol "layer2"']);
});
