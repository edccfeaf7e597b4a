import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LabelSelector } from "../../api/core/label-selector.ts";
import type { BgpAd } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import { decideBgp } from "./bgp-decision.ts";
import type { NotAnnounced } from "../reasons.ts";
import { PoolIndex } from "../config/pool-index.ts";
import { bgpAd, config, node, pool, service } from "../testing/announcement-fixtures.ts";

const POOLS = [pool("pool", ["10.0.0.0/24", "fd00::/64"]), pool("other", ["10.0.1.0/24"])];
const labeled = (key: string, value: string): LabelSelector => ({ matchLabels: { [key]: value } });

interface Case {
  readonly service?: ServiceView;
  readonly node?: NodeView;
  readonly ads?: readonly BgpAd[];
}

const WEB = service(["10.0.0.1"]);
const NODE = node("node-a", { labels: { rack: "1" } });
const AD = bgpAd("ad");

function decide({ service = WEB, node = NODE, ads = [AD] }: Case) {
  return decideBgp(service, node, config({ pools: POOLS, bgpAds: ads }), new PoolIndex(POOLS));
}

function decisionText(wanted: Case) {
  const decision = decide(wanted);
  if ("not" in decision) return decision.not;
  return decision.announce.map(({ prefix, advertisement, localPref, communities, peers }) =>
    [prefix.toString(), advertisement, localPref, ...communities, ...(peers ?? ["all"])].filter((part) => part !== undefined).join(" "),
  );
}

const reasons: [NotAnnounced, string, Case][] = [
  ["noIPAllocated", "a Service without an address", { service: service([]) }],
  ["ipNotAllowed", "an address of no pool", { service: service(["192.0.2.1"]) }],
  ["ipNotAllowed", "addresses of two pools", { service: service(["10.0.1.1", "fd00::1"]) }],
  ["notOwner", "no advertisement at all", { ads: [] }],
  ["notOwner", "advertisements of other pools alone", { ads: [bgpAd("ad", { pools: new Set(["other"]) })] }],
  ["notOwner", "an advertisement for other nodes", { ads: [bgpAd("ad", { nodeSelectors: [labeled("rack", "2")] })] }],
  ["noMatchingAdvertisement", "an advertisement for other Services", { ads: [bgpAd("ad", { serviceSelectors: [labeled("app", "x")] })] }],
  ["conflictingAdvertisements", "two local preferences", { ads: [bgpAd("a", { localPref: 100 }), bgpAd("b", { localPref: 200 })] }],
  ["conflictingAdvertisements", "a local preference and none", { ads: [bgpAd("a", { localPref: 100 }), bgpAd("b")] }],
  [
    "conflictingAdvertisements",
    "two local preferences at one of several peers",
    { ads: [bgpAd("a", { localPref: 1, peers: new Set(["x", "y"]) }), bgpAd("b", { localPref: 2, peers: new Set(["y", "z"]) })] },
  ],
  ["nodeNetworkUnavailable", "a node without network", { node: node("node-a", { networkUnavailable: true }) }],
  ["nodeLabeledExcludeBalancers", "a node that is excluded", { node: node("node-a", { excluded: true }) }],
  [
    "noLocalEndpoints",
    "local traffic, endpoints elsewhere",
    { service: service(["10.0.0.1"], { local: true, endpoints: { any: true, nodes: new Set(["node-b"]) } }) },
  ],
  ["noEndpoints", "no endpoints", { service: service(["10.0.0.1"], { endpoints: { any: false, nodes: new Set() } }) }],
];

test.each(reasons)("%s: %s", (reason, _, wanted) => {
  expect(decisionText(wanted)).toBe(reason);
});

test("when all reasons apply, the first in order is reported", () => {
  const worst: Case = {
    service: service(["10.0.0.1"], { local: true, endpoints: { any: false, nodes: new Set() } }),
    node: node("node-a", { networkUnavailable: true, excluded: true }),
    ads: [bgpAd("a", { localPref: 1 }), bgpAd("b", { localPref: 2 })],
  };
  expect(decisionText(worst)).toBe("conflictingAdvertisements");
  expect(decisionText({ ...worst, ads: [AD] })).toBe("nodeNetworkUnavailable");
  expect(decisionText({ ...worst, ads: [AD], node: node("node-a", { excluded: true }) })).toBe("nodeLabeledExcludeBalancers");
  expect(decisionText({ ...worst, ads: [AD], node: node("node-a") })).toBe("noLocalEndpoints");
});

describe("the BGP announcement", () => {
  test("contains each address for each advertisement, with its attributes", () => {
    const ads = [
      bgpAd("wide", { aggregationLength: 24, aggregationLengthV6: 64, communities: ["64512:1", "large:64512:1:2"] }),
      bgpAd("narrow", { localPref: 150, peers: new Set(["tor-1"]) }),
    ];
    expect(decisionText({ service: service(["10.0.0.7", "fd00::7"]), ads })).toEqual([
      "10.0.0.7/32 narrow 150 tor-1",
      "10.0.0.0/24 wide 64512:1 large:64512:1:2 all",
      "fd00::7/128 narrow 150 tor-1",
      "fd00::/64 wide 64512:1 large:64512:1:2 all",
    ]);
  });

  test("may have two local preferences if no peer receives both for one prefix", () => {
    const apart = [bgpAd("a", { localPref: 1, peers: new Set(["x"]) }), bgpAd("b", { localPref: 2, peers: new Set(["y"]) })];
    expect(decisionText({ ads: apart })).toEqual(["10.0.0.1/32 a 1 x", "10.0.0.1/32 b 2 y"]);
    const wider = [bgpAd("a", { localPref: 1 }), bgpAd("b", { localPref: 2, aggregationLength: 24 })];
    expect(decisionText({ ads: wider })).toEqual(["10.0.0.1/32 a 1 all", "10.0.0.0/24 b 2 all"]);
  });

  test("conflicts over the aggregation length of a family only if the Service has an address of it", () => {
    const ads = [bgpAd("a", { localPref: 1 }), bgpAd("b", { localPref: 2, aggregationLength: 24 })];
    expect(decisionText({ ads, service: service(["10.0.0.1", "fd00::1"]) })).toBe("conflictingAdvertisements");
  });

  test("requires that one of several selectors matches", () => {
    const ads = [
      bgpAd("ad", {
        nodeSelectors: [labeled("rack", "9"), labeled("rack", "1")],
        serviceSelectors: [labeled("a", "1"), labeled("b", "1")],
      }),
    ];
    expect(decisionText({ ads, service: service(["10.0.0.1"], { labels: { b: "1" } }) })).toEqual(["10.0.0.1/32 ad all"]);
  });

  test("is made with externalTrafficPolicy Local only on nodes with an endpoint", () => {
    const local = service(["10.0.0.1"], { local: true, endpoints: { any: true, nodes: new Set(["node-a"]) } });
    expect(decisionText({ service: local })).toEqual(["10.0.0.1/32 ad all"]);
  });
});

test("the decision is deterministic and independent of the order of pools and advertisements", () => {
  const ad = fc.record({
    aggregationLength: fc.constantFrom(24, 32),
    localPref: fc.constantFrom(undefined, 100, 200),
    peers: fc.constantFrom(undefined, ["x"], ["x", "y"], ["z"]),
    rack: fc.constantFrom(undefined, "1", "2"),
    pool: fc.constantFrom("pool", "other"),
  });
  const ads = fc.array(ad, { maxLength: 5 }).map((list) =>
    list.map(({ aggregationLength, localPref, peers, rack, pool: of }, index) =>
      bgpAd(`ad-${index}`, {
        aggregationLength,
        pools: new Set([of]),
        ...(localPref !== undefined && { localPref }),
        ...(peers && { peers: new Set(peers) }),
        ...(rack && { nodeSelectors: [labeled("rack", rack)] }),
      }),
    ),
  );
  fc.assert(
    fc.property(
      ads.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
      ([list, shuffled]) => {
        const again = decideBgp(WEB, NODE, config({ pools: POOLS.toReversed(), bgpAds: shuffled }), new PoolIndex(POOLS.toReversed()));
        expect(again).toEqual(decide({ ads: list }));
        expect(decide({ ads: list })).toEqual(decide({ ads: list }));
      },
    ),
    { seed: 3, numRuns: 200 },
  );
});
