import { describe, expect, test } from "vitest";
import type { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import type { RuleId } from "./rules.ts";
import { bgpAd, load, node, onRack, type ConfigParts, peer, pool, profile, failureTexts } from "../testing/config-fixtures.ts";

const failuresOf = (parts: ConfigParts) => failureTexts(load(parts));
const selector = (key: string, operator: string, ...values: string[]) => ({ matchExpressions: [{ key, operator, values }] });
const rack = { matchLabels: { rack: "a" } };
const TWICE = [rack, { matchLabels: { rack: "a" } }];
const ofAd = (spec: Partial<BGPAdvertisement["spec"]>, parts: ConfigParts = {}) =>
  failuresOf({ ...parts, bgpAdvertisements: [bgpAd("ad", spec)] });

const preferring = (localPref: number, spec: Partial<BGPAdvertisement["spec"]> = {}) =>
  failuresOf({
    pools: [pool("a", ["10.0.0.0/24"]), pool("b", ["10.0.1.0/24", "2001:db8::/64"])],
    nodes: [node("n1", { rack: "a" }), node("n2", { rack: "b" })],
    bgpAdvertisements: [
      bgpAd("old", { localPref: 100, peers: ["p", "q"], ...onRack("a") }),
      bgpAd("young", { localPref, ...spec }, { hour: 1 }),
    ],
  });

describe("a BGPAdvertisement", () => {
  test.each<[RuleId, string, string, Partial<BGPAdvertisement["spec"]>]>([
    ["G2", "spec.ipAddressPools[1]", 'duplicate definition of ipAddressPools "a"', { ipAddressPools: ["a", "a"] }],
    ["G2", "spec.communities[1]", 'duplicate definition of community "1:1"', { communities: ["1:1", "1:1"] }],
    ["G2", "spec.peers[2]", 'duplicate definition of peers "p"', { peers: ["p", "q", "p"] }],
    ["G2", "spec.nodeSelectors[1]", 'duplicate definition of nodeSelectors "rack=a"', { nodeSelectors: TWICE }],
    [
      "G2",
      "spec.nodeSelectors[0].matchExpressions[0].values",
      "operator In requires values\nfailed to parse node selector for ad",
      { nodeSelectors: [selector("rack", "In")] },
    ],
    [
      "G3",
      "spec.aggregationLength",
      "serviceSelectors and aggregationLength are mutually exclusive, both cannot be set in ad",
      { serviceSelectors: [rack], aggregationLength: 24 },
    ],
    [
      "G3",
      "spec.aggregationLengthV6",
      "serviceSelectors and aggregationLengthV6 are mutually exclusive, both cannot be set in ad",
      { serviceSelectors: [rack], aggregationLengthV6: 64 },
    ],
    ["G4", "spec.aggregationLength", "invalid aggregation length 33 for IPv4", { aggregationLength: 33 }],
    ["G4", "spec.aggregationLengthV6", "invalid aggregation length 129 for IPv6", { aggregationLengthV6: 129 }],
    ["G4", "spec.aggregationLengthV6", "invalid aggregation length -1 for IPv6", { aggregationLengthV6: -1 }],
    [
      "G5",
      "spec.communities[0]",
      'invalid community value: "70000" in "70000:1" is not a number from 0 to 65535\ninvalid community "70000:1" in BGP advertisement',
      { communities: ["70000:1"] },
    ],
    [
      "G5",
      "spec.communities",
      "too many communities in BGP advertisement: 64, at most 63 per prefix",
      { communities: Array.from({ length: 64 }, (_, nth) => `64512:${nth}`) },
    ],
    [
      "G5",
      "spec.communities[0]",
      'invalid community format: 1:2:3\ninvalid community "1:2:3" in BGP advertisement',
      { communities: ["1:2:3"] },
    ],
    [
      "T3",
      "spec.communities[0]",
      'invalid community format: alias\ninvalid community "alias" in BGP advertisement',
      { communities: ["alias"] },
    ],
  ])("is rejected by %s at %s: %s", (rule, field, message, spec) => {
    expect(ofAd(spec)).toEqual([`${rule} BGPAdvertisement/ad ${field}: ${message}`]);
  });

  test("must not have an aggregation length that is shorter than a prefix of its pools", () => {
    const pools = [pool("a", ["10.0.0.0/26", "10.0.1.0/24"]), pool("b", ["2001:db8::/96", "10.0.2.1-10.0.2.9"])];
    expect(ofAd({ aggregationLength: 24, aggregationLengthV6: 64 }, { pools })).toEqual([
      "G6 BGPAdvertisement/ad spec.aggregationLength: invalid aggregation length 24: prefix 26 in this pool is more specific than the aggregation length for addresses 10.0.0.0/26",
      "G6 BGPAdvertisement/ad spec.aggregationLength: invalid aggregation length 24: prefix 30 in this pool is more specific than the aggregation length for addresses 10.0.2.1-10.0.2.9",
      "G6 BGPAdvertisement/ad spec.aggregationLengthV6: invalid aggregation length 64: prefix 96 in this pool is more specific than the aggregation length for addresses 2001:db8::/96",
    ]);
    expect(ofAd({ aggregationLength: 26, aggregationLengthV6: 96, ipAddressPools: ["a"] }, { pools })).toEqual([]);
    // One prefix of a range that is large enough makes it fit.
    expect(ofAd({ aggregationLength: 30, aggregationLengthV6: 96 }, { pools })).toEqual([]);
  });

  test("must not set another local preference for a prefix than an older advertisement", () => {
    const expected = [
      "G7 BGPAdvertisement/young spec.localPref: invalid local preference 200: local preference 100 was already set for the same type of BGP update. Check existing BGP advertisements with common pools and aggregation lengths",
    ];
    expect(preferring(200)).toEqual(expected);
    expect(preferring(200, { peers: ["q", "r"], ...onRack("a"), ipAddressPools: ["a"] })).toEqual(expected);
    // Its IPv6 prefixes are the same.
    expect(preferring(200, { aggregationLength: 24, ipAddressPools: ["b"] })).toEqual(expected);
  });

  test("may set another local preference if peers, nodes or prefixes differ", () => {
    expect(preferring(100)).toEqual([]);
    expect(preferring(200, { peers: ["r"] })).toEqual([]);
    expect(preferring(200, onRack("b"))).toEqual([]);
    expect(preferring(200, { serviceSelectors: [rack] })).toEqual([]);
    expect(preferring(200, { aggregationLength: 24, ipAddressPools: ["a"] })).toEqual([]);
    expect(preferring(200, { aggregationLength: 24, aggregationLengthV6: 64 })).toEqual([]);
  });

  test("must not announce IPv6 to a peer with BFD echo mode", () => {
    const parts: ConfigParts = {
      pools: [pool("six", ["2001:db8::/64"]), pool("four", ["10.0.0.0/24"])],
      peers: [peer("loud", { bfdProfile: "echo" }), peer("calm", { peerAddress: "192.0.2.2" })],
      bfdProfiles: [profile("echo", { echoMode: true })],
    };
    const expected =
      "V3 BGPAdvertisement/ad spec.peers: pool six has bgpadvertisement ad which references peer loud which has bfd echo enabled, which is not possible";
    expect(ofAd({ peers: ["loud", "calm"] }, parts)).toEqual([expected]);
    expect(ofAd({}, parts)).toEqual([expected.replace("spec.peers", "spec.ipAddressPools")]);
    expect(ofAd({ peers: ["calm"] }, parts)).toEqual([]);
    expect(ofAd({ ipAddressPools: ["four"] }, parts)).toEqual([]);
  });

  test("with the name of another is rejected", () => {
    expect(failuresOf({ bgpAdvertisements: [bgpAd("ad"), bgpAd("ad", {}, { hour: 1 })] })).toEqual([
      "G1 BGPAdvertisement/ad metadata.name: duplicate definition of bgpadvertisements. advertisement ad exists twice",
    ]);
  });
});
