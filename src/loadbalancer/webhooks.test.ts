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

describe("rejects a write", () => {
  test.each<[string, keyof typeof KINDS, KubeObject, ConfigParts, string]>([
    [
      "of an invalid pool",
      "pools",
      pool("p", ["10.0.0.0"]),
      {},
      'spec.addresses[0]: parsing address pool p: invalid CIDR "10.0.0.0" in pool "p": ',
    ],
    [
      "of an overlapping pool, although it was created in the same second and its name sorts first",
      "pools",
      pool("a", ["10.0.0.0/25"]),
      { pools: [pool("b", ["10.0.0.0/24"])] },
      'spec.addresses[0]: CIDR "10.0.0.0/25" in pool "a" overlaps with already defined CIDR "10.0.0.0/24"',
    ],
    [
      "of a peer with the address of another",
      "peers",
      peer("a"),
      { peers: [peer("b")] },
      "spec.peerAddress: peer 192.0.2.1 already exists, FRR mode doesn't support duplicate BGPPeers selecting the same node",
    ],
    [
      "of a peer with the address of another whose Secret and BFD profile do not exist yet",
      "peers",
      peer("a"),
      { peers: [peer("b", { bfdProfile: "later", passwordSecret: { name: "later" } })] },
      "spec.peerAddress: peer 192.0.2.1 already exists",
    ],
    [
      "of a peer with two passwords",
      "peers",
      peer("a", { password: "x", passwordSecret: { name: "s" } }),
      {},
      "spec.passwordSecret: parsing peer a can not have both",
    ],
    [
      "of an alias that another Community defines",
      "communities",
      community("a", { x: "1:1" }),
      { communities: [community("b", { x: "1:1" })] },
      'spec.communities[0].name: duplicate definition of community "x"',
    ],
    [
      "of an invalid community",
      "bgpAdvertisements",
      bgpAd("a", { communities: ["1:70000"] }),
      {},
      "spec.communities[0]: invalid community value",
    ],
    [
      "of an alias that is defined twice",
      "bgpAdvertisements",
      bgpAd("a", { communities: ["x", "x"] }),
      {},
      'spec.communities[1]: duplicate definition of community "x"',
    ],
    [
      "of an invalid interface name",
      "l2Advertisements",
      l2Ad("a", { interfaces: ["a/b"] }),
      {},
      'spec.interfaces[0]: invalid interface "a/b" in a: ',
    ],
    [
      "of a BFD profile with a value out of range",
      "bfdProfiles",
      profile("a", { minimumTtl: 0 }),
      {},
      "spec.minimumTtl: parsing bfd profile a: invalid value 0, must be in 1-254 range; invalid minimum ttl value",
    ],
    [
      "of a pool that is too narrow for an advertisement",
      "pools",
      pool("a", ["10.0.0.0/26"]),
      { bgpAdvertisements: [bgpAd("wide", { aggregationLength: 24 })] },
      "spec: the change makes BGPAdvertisement wide invalid: spec.aggregationLength: invalid aggregation length 24: prefix 26 in this pool",
    ],
  ])("%s", (_what, part, object, there, expected) => {
    const found = errors(part, created(object), there);
    expect(found.map((text) => text.slice(0, expected.length))).toEqual([expected]);
  });

  test("of an edit that conflicts with another object", () => {
    const claims = { "range/10.0.0.0-10.0.0.255": 0 };
    const [old, edited] = [pool("a", ["10.0.0.0/24"], {}, { claims }), pool("a", ["10.0.0.0/23"], {}, { claims, generation: 2 })];
    const other = pool("b", ["10.0.1.0/24"], {}, { hour: 9 });
    expect(errors("pools", updated(old, edited), { pools: [old, other] })).toEqual([
      'spec.addresses[0]: CIDR "10.0.0.0/23" in pool "a" overlaps with already defined CIDR "10.0.1.0/24"',
    ]);
    // Without recorded claims the older object wins, and the other one would become invalid.
    const bare = [pool("a", ["10.0.0.0/24"]), pool("a", ["10.0.0.0/23"], {}, { generation: 2 })] as const;
    expect(errors("pools", updated(...bare), { pools: [bare[0], other] })).toEqual([
      'spec: the change makes IPAddressPool b invalid: spec.addresses[0]: CIDR "10.0.1.0/24" in pool "b" overlaps with already defined CIDR "10.0.0.0/23"',
    ]);
  });

  test("in another namespace than that of the configuration", () => {
    const elsewhere = pool("p", ["10.0.0.0/24"]);
    elsewhere.metadata.namespace = "default";
    expect(errors("pools", created(elsewhere))).toEqual(["metadata.namespace: resource must be created in metallb-system namespace"]);
    expect(errors("pools", updated(elsewhere, { ...elsewhere, metadata: { ...elsewhere.metadata, labels: {} } }))).toEqual([]);
  });

  test("that deletes a BFD profile in use", () => {
    const peers = [peer("a", { bfdProfile: "fast" }), peer("b")];
    expect(errors("bfdProfiles", { operation: "DELETE", old: profile("fast") }, { peers })).toEqual([
      "metadata.name: failed to delete BFDProfile fast, used by BGPPeer a",
    ]);
    expect(errors("bfdProfiles", { operation: "DELETE", old: profile("slow") }, { peers })).toEqual([]);
  });
});

describe("admits a write", () => {
  test.each<[string, keyof typeof KINDS, KubeObject, ConfigParts]>([
    [
      "of a peer whose Secret and BFD profile do not exist",
      "peers",
      peer("p", { bfdProfile: "none", passwordSecret: { name: "none" } }),
      {},
    ],
    ["of an advertisement whose alias does not exist", "bgpAdvertisements", bgpAd("ad", { communities: ["alias"] }), {}],
    [
      "of an advertisement of IPv6 to a peer with BFD echo mode",
      "bgpAdvertisements",
      bgpAd("ad"),
      { pools: [pool("six", ["2001:db8::/64"])], peers: [peer("p", { bfdProfile: "b" })], bfdProfiles: [profile("b", { echoMode: true })] },
    ],
    [
      "while other objects are invalid",
      "pools",
      pool("good", ["10.0.1.0/24"]),
      { pools: [pool("bad", ["nonsense"])], peers: [peer("bad", { myASN: 0 })] },
    ],
    [
      "of a peer that conflicts only on other nodes",
      "peers",
      peer("a", onRack("a")),
      { peers: [peer("b", onRack("b"))], nodes: [node("n1", { rack: "a" }), node("n2", { rack: "b" })] },
    ],
  ])("%s", (_what, part, object, there) => {
    expect(errors(part, created(object), there)).toEqual([]);
  });

  test("that does not change an invalid spec, or has a deletion timestamp", () => {
    const broken = pool("p", ["nonsense"]);
    const annotated = { ...broken, metadata: { ...broken.metadata, annotations: { a: "b" } } };
    expect(errors("pools", updated(broken, annotated), { pools: [broken] })).toEqual([]);
    const going = { ...pool("p", ["more nonsense"]), metadata: { ...broken.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    expect(errors("pools", updated(broken, going), { pools: [broken] })).toEqual([]);
  });

  test("with a warning about deprecated fields, which does not replace validation", () => {
    const warnings = ["spec.disableMP is deprecated and has no effect; leave it out"];
    expect(ask("peers", created(peer("p", { disableMP: true })), {})).toEqual({ errors: [], warnings });
    expect(ask("peers", created(peer("p", { disableMP: true, myASN: 0 })), {})).toMatchObject({
      errors: [{ field: "spec.myASN" }],
      warnings,
    });
  });
});

const bare = <T extends { spec: unknown }>({ spec: _, ...rest }: T) => rest as T;

test("objects without a spec, which an older schema allowed, do not block the validation of others", () => {
  const there = { peers: [bare(peer("x"))], bgpAdvertisements: [bare(bgpAd("x"))], communities: [bare(community("x", {}))] };
  expect(errors("pools", created(pool("p", ["10.0.0.0/24"])), there)).toEqual([]);
  expect(errors("bfdProfiles", { operation: "DELETE", old: profile("b") }, there)).toEqual([]);
  expect(errors("peers", created(bare(peer("y"))))).toContain("spec.myASN: parsing peer y missing local ASN");
});
