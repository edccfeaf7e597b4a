import { describe, expect, test } from "vitest";
import type { KubeObject } from "../api/kind.ts";
import type { Review } from "../kube/webhook/review.ts";
import { bgpAd, community, l2Ad, node, objects, onRack, type ConfigParts, peer, pool, profile } from "./testing/config-fixtures.ts";
import { validateWrite } from "./webhooks.ts";

const KINDS = {
  pools: "IPAddressPool",
  peers: "BGPPeer",
  bfdProfiles: "BFDProfile",
  bgpAdvertisements: "BGPAdvertisement",
  l2Advertisements: "L2Advertisement",
  communities: "Community",
} as const;

const NAMESPACE = "metallb-system";
const ask = (part: keyof typeof KINDS, review: Review<KubeObject>, there: ConfigParts) =>
  validateWrite(review, { kind: KINDS[part], part, namespace: NAMESPACE, objects: objects(there) });

function errors(part: keyof typeof KINDS, review: Review<KubeObject>, there: ConfigParts = {}): string[] {
  return (ask(part, review, there).errors ?? []).map(({ field, message }) => `${field}: ${message}`);
}

const created = (object: KubeObject): Review<KubeObject> => ({ operation: "CREATE", object });
const updated = (old: KubeObject, object: KubeObject): Review<KubeObject> => ({ operation: "UPDATE", old, object });

describe("a write is refused", () => {
  test.each<[string, keyof typeof KINDS, KubeObject, ConfigParts, string]>([
    [
      "a pool that cannot be",
      "pools",
      pool("p", ["10.0.0.0"]),
      {},
      'spec.addresses[0]: parsing address pool p: invalid CIDR "10.0.0.0" in pool "p": ',
    ],
    [
      "a pool that overlaps, though it was created in the same second and its name comes first",
      "pools",
      pool("a", ["10.0.0.0/25"]),
      { pools: [pool("b", ["10.0.0.0/24"])] },
      'spec.addresses[0]: CIDR "10.0.0.0/25" in pool "a" overlaps with already defined CIDR "10.0.0.0/24"',
    ],
    [
      "a peer at an address that is taken",
      "peers",
      peer("a"),
      { peers: [peer("b")] },
      "spec.peerAddress: peer 192.0.2.1 already exists, FRR mode doesn't support duplicate BGPPeers selecting the same node",
    ],
    [
      "a peer at an address that is taken by one whose Secret and profile are still to come",
      "peers",
      peer("a"),
      { peers: [peer("b", { bfdProfile: "later", passwordSecret: { name: "later" } })] },
      "spec.peerAddress: peer 192.0.2.1 already exists",
    ],
    [
      "a peer with two passwords",
      "peers",
      peer("a", { password: "x", passwordSecret: { name: "s" } }),
      {},
      "spec.passwordSecret: parsing peer a can not have both",
    ],
    [
      "an alias that is taken",
      "communities",
      community("a", { x: "1:1" }),
      { communities: [community("b", { x: "1:1" })] },
      'spec.communities[0].name: duplicate definition of community "x"',
    ],
    [
      "a community that is none",
      "bgpAdvertisements",
      bgpAd("a", { communities: ["1:70000"] }),
      {},
      "spec.communities[0]: invalid community value",
    ],
    [
      "an alias twice",
      "bgpAdvertisements",
      bgpAd("a", { communities: ["x", "x"] }),
      {},
      'spec.communities[1]: duplicate definition of community "x"',
    ],
    [
      "an interface that none can be",
      "l2Advertisements",
      l2Ad("a", { interfaces: ["a/b"] }),
      {},
      'spec.interfaces[0]: invalid interface "a/b" in a: ',
    ],
    [
      "a profile out of range",
      "bfdProfiles",
      profile("a", { minimumTtl: 0 }),
      {},
      "spec.minimumTtl: parsing bfd profile a: invalid value 0, must be in 1-254 range; invalid minimum ttl value",
    ],
    [
      "a pool that an advertisement is too wide for",
      "pools",
      pool("a", ["10.0.0.0/26"]),
      { bgpAdvertisements: [bgpAd("wide", { aggregationLength: 24 })] },
      "spec: the change makes BGPAdvertisement wide invalid: spec.aggregationLength: invalid aggregation length 24: prefix 26 in this pool",
    ],
  ])("%s", (_what, part, object, there, expected) => {
    const found = errors(part, created(object), there);
    expect(found.map((text) => text.slice(0, expected.length))).toEqual([expected]);
  });

  test("also when an object is edited onto what another has", () => {
    const claims = { "range/10.0.0.0-10.0.0.255": 0 };
    const [old, edited] = [pool("a", ["10.0.0.0/24"], {}, { claims }), pool("a", ["10.0.0.0/23"], {}, { claims, generation: 2 })];
    const other = pool("b", ["10.0.1.0/24"], {}, { hour: 9 });
    expect(errors("pools", updated(old, edited), { pools: [old, other] })).toEqual([
      'spec.addresses[0]: CIDR "10.0.0.0/23" in pool "a" overlaps with already defined CIDR "10.0.1.0/24"',
    ]);
    // Before anything is recorded the older object would win, and the other is what could not stay.
    const bare = [pool("a", ["10.0.0.0/24"]), pool("a", ["10.0.0.0/23"], {}, { generation: 2 })] as const;
    expect(errors("pools", updated(...bare), { pools: [bare[0], other] })).toEqual([
      'spec: the change makes IPAddressPool b invalid: spec.addresses[0]: CIDR "10.0.1.0/24" in pool "b" overlaps with already defined CIDR "10.0.0.0/23"',
    ]);
  });

  test("in another namespace than the configuration's", () => {
    const elsewhere = pool("p", ["10.0.0.0/24"]);
    elsewhere.metadata.namespace = "default";
    expect(errors("pools", created(elsewhere))).toEqual(["metadata.namespace: resource must be created in metallb-system namespace"]);
    expect(errors("pools", updated(elsewhere, { ...elsewhere, metadata: { ...elsewhere.metadata, labels: {} } }))).toEqual([]);
  });

  test("when a profile is deleted that peers name", () => {
    const peers = [peer("a", { bfdProfile: "fast" }), peer("b")];
    expect(errors("bfdProfiles", { operation: "DELETE", old: profile("fast") }, { peers })).toEqual([
      "metadata.name: failed to delete BFDProfile fast, used by BGPPeer a",
    ]);
    expect(errors("bfdProfiles", { operation: "DELETE", old: profile("slow") }, { peers })).toEqual([]);
  });
});

describe("a write goes through", () => {
  test.each<[string, keyof typeof KINDS, KubeObject, ConfigParts]>([
    [
      "without the Secret and the profile that a peer names",
      "peers",
      peer("p", { bfdProfile: "none", passwordSecret: { name: "none" } }),
      {},
    ],
    ["without the alias that an advertisement names", "bgpAdvertisements", bgpAd("ad", { communities: ["alias"] }), {}],
    [
      "that takes IPv6 to a peer whose BFD echoes",
      "bgpAdvertisements",
      bgpAd("ad"),
      { pools: [pool("six", ["2001:db8::/64"])], peers: [peer("p", { bfdProfile: "b" })], bfdProfiles: [profile("b", { echoMode: true })] },
    ],
    [
      "beside others that are broken",
      "pools",
      pool("good", ["10.0.1.0/24"]),
      { pools: [pool("bad", ["nonsense"])], peers: [peer("bad", { myASN: 0 })] },
    ],
    [
      "of a peer on other nodes",
      "peers",
      peer("a", onRack("a")),
      { peers: [peer("b", onRack("b"))], nodes: [node("n1", { rack: "a" }), node("n2", { rack: "b" })] },
    ],
  ])("%s", (_what, part, object, there) => {
    expect(errors(part, created(object), there)).toEqual([]);
  });

  test("that leaves a broken object's spec alone, or is about one that is being deleted", () => {
    const broken = pool("p", ["nonsense"]);
    const annotated = { ...broken, metadata: { ...broken.metadata, annotations: { a: "b" } } };
    expect(errors("pools", updated(broken, annotated), { pools: [broken] })).toEqual([]);
    const going = { ...pool("p", ["more nonsense"]), metadata: { ...broken.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    expect(errors("pools", updated(broken, going), { pools: [broken] })).toEqual([]);
  });

  test("with a warning about what has no effect, and is judged all the same", () => {
    const warnings = ["spec.disableMP is deprecated and has no effect; leave it out"];
    expect(ask("peers", created(peer("p", { disableMP: true })), {})).toEqual({ errors: [], warnings });
    expect(ask("peers", created(peer("p", { disableMP: true, myASN: 0 })), {})).toMatchObject({
      errors: [{ field: "spec.myASN" }],
      warnings,
    });
  });
});

const bare = <T extends { spec: unknown }>({ spec: _, ...rest }: T) => rest as T;

test("objects without a spec, which an older schema let through, keep no other from being judged", () => {
  const there = { peers: [bare(peer("x"))], bgpAdvertisements: [bare(bgpAd("x"))], communities: [bare(community("x", {}))] };
  expect(errors("pools", created(pool("p", ["10.0.0.0/24"])), there)).toEqual([]);
  expect(errors("bfdProfiles", { operation: "DELETE", old: profile("b") }, there)).toEqual([]);
  expect(errors("peers", created(bare(peer("y"))))).toContain("spec.myASN: parsing peer y missing local ASN");
});
