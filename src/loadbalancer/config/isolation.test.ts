import { describe, expect, test } from "vitest";
import { claimsOf } from "../claims/claims-recorder.ts";
import type { Loaded, ConfigScope } from "./load.ts";
import {
  bgpAd,
  CLUSTER,
  community,
  loadSequence,
  l2Ad,
  load,
  peer,
  pool,
  profile,
  failureTexts,
  secret,
  states,
} from "../testing/config-fixtures.ts";

const edited = { generation: 2 };
const N1: ConfigScope = { of: "node", node: "n1" };
const ranges = ({ config }: Loaded, name: string) => config.pools.get(name)?.ranges.map(String);
const named = (more: object = {}, born: object = {}) => peer("p", { passwordSecret: { name: "s" }, ...more }, born);
const all = (count: number) => ({ communities: Array.from({ length: count }, (_, nth) => `64512:${nth}`) });
const bare = <T extends { spec: unknown }>({ spec: _, ...rest }: T) => rest as T;

test("an object without a spec, which an older schema allowed, affects no other object", () => {
  const parts = {
    pools: [bare(pool("bare", [])), pool("good", ["10.0.0.0/24"])],
    peers: [bare(peer("bare")), peer("good")],
    bfdProfiles: [bare(profile("bare"))],
    bgpAdvertisements: [bare(bgpAd("bare"))],
    l2Advertisements: [bare(l2Ad("bare"))],
    communities: [bare(community("bare", {}))],
  };
  expect(states(load(parts))).toEqual({
    "BFDProfile/bare": "Applied",
    "BGPAdvertisement/bare": "Applied",
    "BGPPeer/bare": "Failed",
    "BGPPeer/good": "Applied",
    "Community/bare": "Applied",
    "IPAddressPool/bare": "Failed",
    "IPAddressPool/good": "Applied",
    "L2Advertisement/bare": "Applied",
  });
  expect(parts.pools.map((object) => claimsOf({ kind: "IPAddressPool", object }).length)).toEqual([0, 1]);
});

describe("a bad edit", () => {
  test("of an advertisement to more communities than a prefix can have keeps its previous communities", () => {
    const loaded = loadSequence(
      N1,
      { pools: [pool("p", ["10.0.0.0/24"])], bgpAdvertisements: [bgpAd("ad", all(63))] },
      { pools: [pool("p", ["10.0.0.0/24"])], bgpAdvertisements: [bgpAd("ad", all(70), edited)] },
    );
    expect(states(loaded)["BGPAdvertisement/ad"]).toBe("KeptPrevious");
    expect(loaded.config.bgpAds.get("ad")?.communities).toHaveLength(63);
  });

  test("of a pool keeps its previous version", () => {
    const loaded = loadSequence(
      { of: "controller" },
      { pools: [pool("p", ["10.0.0.0/24"])] },
      { pools: [pool("p", ["10.0.0.0/240"], {}, edited)] },
    );
    expect(states(loaded)).toEqual({ "IPAddressPool/p": "KeptPrevious" });
    expect(ranges(loaded, "p")).toEqual(["10.0.0.0/24"]);
    expect(loaded.config.pools.get("p")?.generation).toBe(1);
    expect(loaded.failures).toMatchObject([{ rule: "A2", generation: 2 }]);
  });

  test("keeps the previous version however often it is loaded", () => {
    const bad = { pools: [pool("p", ["nonsense"], {}, edited)] };
    expect(ranges(loadSequence(CLUSTER, { pools: [pool("p", ["10.0.0.0/24"])] }, bad, bad, bad), "p")).toEqual(["10.0.0.0/24"]);
  });

  test("of a pool onto the addresses of another keeps both previous versions, however old the object is", () => {
    const before = [
      pool("old", ["10.0.0.0/24"]),
      pool("young", ["10.0.1.0/24"], {}, { hour: 1, claims: { "range/10.0.1.0-10.0.1.255": 1 } }),
    ];
    const claims = { "range/10.0.0.0-10.0.0.255": 0 };
    const after = [pool("old", ["10.0.0.0/24", "10.0.1.9/32"], {}, { ...edited, claims }), before[1] as (typeof before)[0]];
    const loaded = loadSequence(CLUSTER, { pools: before }, { pools: after });
    expect(failureTexts(loaded)).toEqual([
      'A5 IPAddressPool/old spec.addresses[1]: CIDR "10.0.1.9/32" in pool "old" overlaps with already defined CIDR "10.0.1.0/24"',
    ]);
    expect(ranges(loaded, "old")).toEqual(["10.0.0.0/24"]);
    expect(ranges(loaded, "young")).toEqual(["10.0.1.0/24"]);
  });

  test("of a pool without a good version leaves it out and applies the rest", () => {
    const loaded = load({ pools: [pool("bad", ["10.0.0.0"]), pool("good", ["10.0.1.0/24"])], bgpAdvertisements: [bgpAd("ad")] });
    expect(states(loaded)).toEqual({ "BGPAdvertisement/ad": "Applied", "IPAddressPool/bad": "Failed", "IPAddressPool/good": "Applied" });
    expect([...(loaded.config.bgpAds.get("ad")?.pools ?? [])]).toEqual(["good"]);
  });

  test("of a peer keeps its session and those of the other peers", () => {
    const other = peer("other", { peerAddress: "192.0.2.2" });
    const loaded = loadSequence(N1, { peers: [peer("p"), other] }, { peers: [peer("p", { peerAddress: "nowhere" }, edited), other] });
    expect(states(loaded)).toEqual({ "BGPPeer/other": "Applied", "BGPPeer/p": "KeptPrevious" });
    expect(loaded.config.peers.get("p")?.address?.toString()).toBe("192.0.2.1");
  });

  test("of an advertisement keeps what it announced", () => {
    const pools = [pool("a", ["10.0.0.0/24"])];
    const good = bgpAd("ad", { localPref: 100, ipAddressPools: ["a"] });
    const loaded = loadSequence(
      N1,
      { pools, bgpAdvertisements: [good] },
      { pools, bgpAdvertisements: [bgpAd("ad", { aggregationLength: 33 }, edited)] },
    );
    expect(states(loaded)).toMatchObject({ "BGPAdvertisement/ad": "KeptPrevious" });
    expect(loaded.config.bgpAds.get("ad")).toMatchObject({ localPref: 100, aggregationLength: 32, generation: 1 });
  });

  test("of a BFD profile keeps it and its peers", () => {
    const peers = [peer("p", { bfdProfile: "fast" })];
    const loaded = loadSequence(
      N1,
      { peers, bfdProfiles: [profile("fast", { detectMultiplier: 3 })] },
      { peers, bfdProfiles: [profile("fast", { detectMultiplier: 0 }, edited)] },
    );
    expect(states(loaded)).toEqual({ "BFDProfile/fast": "KeptPrevious", "BGPPeer/p": "Applied" });
    expect(loaded.config.bfdProfiles.get("fast")?.detectMultiplier).toBe(3);
  });
});

describe("a referenced object that is deleted", () => {
  test("stays in effect: a peer keeps its password and its BFD profile", () => {
    const peers = [peer("p", { bfdProfile: "fast", passwordSecret: { name: "s" } })];
    const loaded = loadSequence(N1, { peers, bfdProfiles: [profile("fast", { minimumTtl: 9 })], secrets: [secret("s")] }, { peers });
    expect(loaded.failures.map(({ rule }) => rule)).toEqual(["T2", "T1"]);
    expect(states(loaded)).toEqual({ "BGPPeer/p": "KeptPrevious" });
    expect(loaded.config.peers.get("p")).toMatchObject({ password: "geheim", bfdProfile: "fast" });
    expect(loaded.config.bfdProfiles.get("fast")).toMatchObject({ minimumTtl: 9 });
  });

  test("stays in effect: an advertisement keeps the values of its community aliases", () => {
    const bgpAdvertisements = [bgpAd("ad", { communities: ["alias", "__proto__"] })];
    const named = community("c", { alias: "1:1" });
    named.spec.communities?.push({ name: "__proto__", value: "1:2" });
    const loaded = loadSequence(N1, { bgpAdvertisements, communities: [named] }, { bgpAdvertisements });
    expect(loaded.failures.map(({ rule }) => rule)).toEqual(["T3", "T3"]);
    expect(loaded.config.bgpAds.get("ad")?.communities).toEqual(["1:1", "1:2"]);
  });

  test("fails a peer that never had it", () => {
    const loaded = load({ peers: [peer("p", { bfdProfile: "fast" }), peer("q", { peerAddress: "192.0.2.2" })] });
    expect(states(loaded)).toEqual({ "BGPPeer/p": "Failed", "BGPPeer/q": "Applied" });
  });

  test("is used with its new value when it is created again", () => {
    const peers = [peer("p", { passwordSecret: { name: "s" } })];
    const fresh = secret("s", { data: { password: Buffer.from("neu").toString("base64") } });
    const loaded = loadSequence(N1, { peers, secrets: [secret("s")] }, { peers }, { peers, secrets: [fresh] });
    expect(loaded.failures).toEqual([]);
    expect(loaded.config.peers.get("p")?.password).toBe("neu");
  });
});

describe("a Secret that cannot be read", () => {
  const other = peer("q", { peerAddress: "192.0.2.2" });
  const unreadable = ["s"];

  test("keeps the last good version of its peer despite later edits, without a failure and without effect on others", () => {
    const good = { peers: [named()], secrets: [secret("s")] };
    const since = { peers: [named({ peerPort: 1790 }, edited), other], unreadable };
    const loaded = loadSequence(N1, good, since, since);
    expect(loaded.failures).toEqual([]);
    expect(loaded.config.peers.get("p")).toMatchObject({ generation: 1, password: "geheim" });
    expect(loaded.config.peers.get("p")).not.toHaveProperty("port");
    expect([...loaded.config.peers.keys()]).toEqual(["p", "q"]);
    // The generation that is live; the one since then has not been judged.
    expect(loaded.resources).toMatchObject([
      { name: "p", generation: 1, state: "Applied" },
      { name: "q", generation: 1, state: "Applied" },
    ]);
    expect(loaded.unread).toEqual([{ kind: "BGPPeer", name: "p", generation: 2, secret: "s", isInForce: true }]);
    const read = loadSequence(N1, good, since, { ...since, secrets: [secret("s")], unreadable: [] });
    expect(read.unread).toEqual([]);
    expect(read.config.peers.get("p")).toMatchObject({ generation: 2, port: 1790 });
  });

  test("leaves out a peer without a good version, and reports no failure", () => {
    const loaded = load({ peers: [named(), other], unreadable });
    expect(loaded.failures).toEqual([]);
    expect([...loaded.config.peers.keys()]).toEqual(["q"]);
    expect(states(loaded)).toEqual({ "BGPPeer/p": "Failed", "BGPPeer/q": "Applied" });
    expect(loaded.unread).toMatchObject([{ name: "p", isInForce: false }]);
  });

  test("does not hide other problems of its peer", () => {
    const bad = { peers: [named({ myASN: 0 }, edited)], unreadable };
    const loaded = loadSequence(N1, { peers: [named()], secrets: [secret("s")] }, bad);
    expect(loaded.failures.map(({ rule }) => rule)).toEqual(["P1"]);
    expect(states(loaded)).toEqual({ "BGPPeer/p": "KeptPrevious" });
    expect(loaded.config.peers.get("p")).toMatchObject({ myAsn: 64_512, password: "geheim" });
    expect(loaded.unread).toEqual([]);
  });

  test("keeps no peer on a node that it no longer selects", () => {
    const away = { peers: [named({ nodeSelectors: [{ matchLabels: { rack: "other" } }] }, edited)], unreadable };
    const loaded = loadSequence(N1, { peers: [named()], secrets: [secret("s")] }, away);
    expect([loaded.config.peers.size, loaded.resources, loaded.unread]).toEqual([0, [], []]);
  });

  test("keeps the claim age of a peer that has only just selected this node", () => {
    const away = named({ nodeSelectors: [{ matchLabels: { rack: "other" } }] });
    const loaded = loadSequence(N1, { peers: [away], secrets: [secret("s")] }, { peers: [named({}, edited)], unreadable });
    expect(loaded.lastGood.get("BGPPeer/p")).toEqual({ uid: "BGPPeer-p", generation: 2, since: "2026-01-02T00:00:00.000Z" });
  });
});

describe("an object that is deleted and created again", () => {
  test("does not inherit the last good version of its predecessor", () => {
    const recreated = peer("p", { myASN: 0 });
    recreated.metadata.uid = "another";
    expect(states(loadSequence(N1, { peers: [peer("p")] }, { peers: [recreated] }))).toEqual({ "BGPPeer/p": "Failed" });
  });

  test("has no claims while its deletion is pending", () => {
    const going = pool("p", ["10.0.0.0/24"]);
    going.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    expect(load({ pools: [going, pool("q", ["10.0.0.0/24"], {}, { hour: 1 })] })).toMatchObject({ failures: [] });
  });
});

test("raw FRR lines with control characters keep the previous lines", () => {
  expect(loadSequence(N1, { extras: "! one\n" }, { extras: "! \u0000\n" }).config.extras).toBe("! one\n");
  expect(loadSequence(N1, { extras: "! one\n" }, {}).config.extras).toBe("");
});
