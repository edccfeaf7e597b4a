import { describe, expect, test } from "vitest";
import type { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import { l2Ad, load, type ConfigParts, failureTexts } from "../testing/config-fixtures.ts";

const failuresOf = (parts: ConfigParts) => failureTexts(load(parts));
const selector = (key: string, operator: string, ...values: string[]) => ({ matchExpressions: [{ key, operator, values }] });
const rack = { matchLabels: { rack: "a" } };
const TWICE = [rack, { matchLabels: { rack: "a" } }];

describe("an L2Advertisement", () => {
  test.each<[string, string, L2Advertisement["spec"]]>([
    ["spec.ipAddressPools[1]", 'duplicate definition of ipAddressPools "a"', { ipAddressPools: ["a", "a"] }],
    ["spec.ipAddressPoolSelectors[1]", 'duplicate definition of ipAddressPoolSelectors "rack=a"', { ipAddressPoolSelectors: TWICE }],
    ["spec.nodeSelectors[1]", 'duplicate definition of nodeSelectors "rack=a"', { nodeSelectors: TWICE }],
    ["spec.serviceSelectors[1]", 'duplicate definition of serviceSelectors "rack=a"', { serviceSelectors: TWICE }],
    [
      "spec.nodeSelectors[0].matchExpressions[0].values",
      "operator Exists does not take values\nfailed to parse node selector for l2",
      { nodeSelectors: [selector("rack", "Exists", "x")] },
    ],
    [
      "spec.serviceSelectors[0].matchExpressions[0].values",
      "operator In requires values\nfailed to parse service selector for l2",
      { serviceSelectors: [selector("rack", "In")] },
    ],
    [
      "spec.ipAddressPoolSelectors[0].matchExpressions[0].values",
      'operator In requires values\ninvalid label selector "rack in ()"',
      { ipAddressPoolSelectors: [selector("rack", "In")] },
    ],
    [
      "spec.preferredNodeSelectors[0].preference.matchExpressions[0].values",
      "operator In requires values\nfailed to parse preferred node selectors for l2",
      { preferredNodeSelectors: [{ weight: 1, preference: selector("rack", "In") }] },
    ],
    [
      "spec.preferredNodeSelectors[0].weight",
      "invalid weight 101 in l2: must be in 1-100 range",
      { preferredNodeSelectors: [{ weight: 101, preference: rack }] },
    ],
    [
      "spec.interfaces[0]",
      'invalid interface "a-very-long-name" in l2: it has more than 15 characters',
      { interfaces: ["a-very-long-name"] },
    ],
  ])("is rejected by L1 at %s: %s", (field, message, spec) => {
    expect(failuresOf({ l2Advertisements: [l2Ad("l2", spec)] })).toEqual([`L1 L2Advertisement/l2 ${field}: ${message}`]);
  });

  test("may name an interface twice, with the effect of once", () => {
    const { config, failures } = load({ l2Advertisements: [l2Ad("l2", { interfaces: ["eth1", "eth0", "eth1"] })] });
    expect(failures).toEqual([]);
    expect(config.l2Ads.get("l2")?.interfaces).toEqual(["eth0", "eth1"]);
  });

  test("adds up the weights of a node that it prefers twice", () => {
    const preferredNodeSelectors = [
      { weight: 1, preference: rack },
      { weight: 100, preference: rack },
    ];
    const { config, failures } = load({ l2Advertisements: [l2Ad("l2", { preferredNodeSelectors, interfaces: ["eth1", "eth0"] })] });
    expect(failures).toEqual([]);
    expect(config.l2Ads.get("l2")).toMatchObject({ interfaces: ["eth0", "eth1"], preferences: [{ weight: 1 }, { weight: 100 }] });
  });
});
