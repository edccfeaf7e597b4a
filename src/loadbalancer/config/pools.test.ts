import { describe, expect, test } from "vitest";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { RuleId } from "./rules.ts";
import { load, type ConfigParts, pool, failureTexts, type ObjectAge, CLUSTER, states } from "../testing/config-fixtures.ts";
import { claimsOf } from "../claims/claims-recorder.ts";
import type { Loaded, ConfigScope } from "./load.ts";

const failuresOf = (parts: ConfigParts) => failureTexts(load(parts));
const selector = (key: string, operator: string, ...values: string[]) => ({ matchExpressions: [{ key, operator, values }] });
const rack = { matchLabels: { rack: "a" } };
const TWICE = [rack, { matchLabels: { rack: "a" } }];
const ofPool = (addresses: string[], spec: Partial<IPAddressPool["spec"]> = {}) => failuresOf({ pools: [pool("p", addresses, spec)] });

describe("a pool", () => {
  test.each([
    ["192.0.2.0/33", "the prefix length is more than 32"],
    ["192.0.2.1", "the prefix length is missing; a single address is /32"],
    ["nonsense", expect.any(String)],
    ["192.0.2.9-192.0.2.1", "the range ends before it starts; swap its ends"],
    ["192.0.2.1-2001:db8::1", "one end is IPv4, the other IPv6"],
    ["192.0.2.1-", expect.any(String)],
    ["192.0.2.01/32", expect.any(String)],
    ["10.0.0.0/8\n", expect.any(String)],
    ["127.0.0.1/32", "these addresses are not usable for Services"],
    ["0.0.0.0-0.0.0.9", "these addresses are not usable for Services"],
    ["224.0.0.0/4", "these addresses are not usable for Services"],
    ["255.255.255.255/32", "these addresses are not usable for Services"],
    ["::1/128", "these addresses are not usable for Services"],
    ["ff02::/16", "these addresses are not usable for Services"],
  ])("with %j is rejected", (text, problem: unknown) => {
    const [first = "", ...others] = ofPool([text]);
    expect(others).toEqual([]);
    const start = `A2 IPAddressPool/p spec.addresses[0]: parsing address pool p: invalid CIDR ${JSON.stringify(text)} in pool "p": `;
    expect(first.startsWith(start)).toBe(true);
    expect(first.slice(start.length)).toEqual(problem);
  });

  test.each([
    ["0.0.0.0/0"],
    ["::/0"],
    ["192.0.2.7/24"],
    [" 192.0.2.1 - 192.0.2.9 "],
    ["2001:db8::1-2001:db8::ff"],
    ["192.0.2.1-192.0.2.1"],
  ])("with %j is valid", (text) => {
    expect(ofPool([text])).toEqual([]);
  });

  test("of 0.0.0.0/0 and ::/0 excludes loopback, multicast, unspecified and broadcast addresses", () => {
    const { config } = load({ pools: [pool("p", ["0.0.0.0/0", "::/0"])] });
    expect(config.pools.get("p")?.ranges.map(String)).toEqual([
      "1.0.0.0-126.255.255.255",
      "128.0.0.0-223.255.255.255",
      "240.0.0.0-255.255.255.254",
      "::2-feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ]);
  });

  test("ignores host bits and reads IPv4-mapped IPv6 addresses as IPv4", () => {
    const { config } = load({ pools: [pool("p", ["192.0.2.7/24", "::ffff:10.0.0.0/120", "::ffff:10.0.1.1-::ffff:10.0.1.9"])] });
    expect(config.pools.get("p")?.ranges.map(String)).toEqual(["192.0.2.0/24", "10.0.0.0/24", "10.0.1.1-10.0.1.9"]);
  });

  test.each<[RuleId, string, string, string[], Partial<IPAddressPool["spec"]>]>([
    ["A1", "spec.addresses", "parsing address pool p: pool has no prefixes defined", [], {}],
    [
      "A3",
      "spec.serviceAllocation.namespaces[1]",
      "parsing address pool p: duplicate definition in namespaces field",
      ["10.0.0.0/24"],
      { serviceAllocation: { namespaces: ["a", "a"] } },
    ],
    [
      "A3",
      "spec.serviceAllocation.namespaceSelectors[1]",
      'parsing address pool p: duplicate definition of namespaceSelectors "rack=a"',
      ["10.0.0.0/24"],
      { serviceAllocation: { namespaceSelectors: TWICE } },
    ],
    [
      "A3",
      "spec.serviceAllocation.serviceSelectors[0].matchExpressions[0].values",
      'parsing address pool p: operator In requires values\ninvalid service label selector "app in ()" in ip pool p',
      ["10.0.0.0/24"],
      { serviceAllocation: { serviceSelectors: [selector("app", "In")] } },
    ],
    [
      "A5",
      "spec.addresses[1]",
      'CIDR "10.0.0.128/25" in pool "p" overlaps with already defined CIDR "10.0.0.0/24"',
      ["10.0.0.0/24", "10.0.0.128/25"],
      {},
    ],
    [
      "A5",
      "spec.addresses[1]",
      'CIDR "10.0.0.0/24" in pool "p" overlaps with already defined CIDR "10.0.0.9-10.0.0.11"',
      ["10.0.0.9-10.0.0.11", "10.0.0.0/24"],
      {},
    ],
  ])("is rejected by %s at %s: %s", (rule, field, message, addresses, spec) => {
    expect(ofPool(addresses, spec)).toEqual([`${rule} IPAddressPool/p ${field}: ${message}`]);
  });

  test("reports exactly the entries that overlap with another pool", () => {
    const pools = [
      pool("old", ["10.0.0.0/24", "10.0.2.0/24"]),
      pool("young", ["10.0.0.0/25", "10.0.1.0/24", "10.0.2.9-10.0.3.9"], {}, { hour: 1 }),
    ];
    expect(failuresOf({ pools })).toEqual([
      'A5 IPAddressPool/young spec.addresses[0]: CIDR "10.0.0.0/25" in pool "young" overlaps with already defined CIDR "10.0.0.0/24"',
      'A5 IPAddressPool/young spec.addresses[2]: CIDR "10.0.2.9-10.0.3.9" in pool "young" overlaps with already defined CIDR "10.0.2.0/24"',
    ]);
  });

  test("without a name, or with the name of another pool, is rejected", () => {
    expect(
      failuresOf({ pools: [pool("", ["10.0.0.0/24"]), pool("a", ["10.0.1.0/24"]), pool("a", ["10.0.2.0/24"], {}, { hour: 1 })] }),
    ).toEqual([
      "A1 IPAddressPool/ metadata.name: parsing address pool : missing pool name",
      'A4 IPAddressPool/a metadata.name: duplicate definition of pool "a"',
    ]);
  });
});

const CONTROLLER: ConfigScope = { of: "controller" };
const ranges = ({ config }: Loaded, name: string) => config.pools.get(name)?.ranges.map(String);
const recorded = (claims: ObjectAge["claims"] = { "range/10.0.0.0-10.0.0.255": 0 }): ObjectAge => ({ generation: 2, claims });
const broken = (spec: Partial<IPAddressPool["spec"]> = {}, born = recorded()) => pool("p", ["10.0.0.0/240"], spec, born);

describe("an invalid pool without a last good version", () => {
  test.each<ConfigScope>([CONTROLLER, CLUSTER, { of: "node", node: "n1" }])("keeps the ranges of its recorded claims, for %j", (view) => {
    const loaded = load({ pools: [broken({ autoAssign: false })] }, view);
    expect(states(loaded)).toEqual({ "IPAddressPool/p": "KeptPrevious" });
    expect(ranges(loaded, "p")).toEqual(["10.0.0.0-10.0.0.255"]);
    expect(loaded.config.pools.get("p")?.autoAssign).toBe(false);
    expect(loaded.failures).toMatchObject([{ rule: "A2", generation: 2 }]);
  });

  test("keeps them when more claims are recorded later", () => {
    const first = load({ pools: [broken()] }, CONTROLLER);
    const more = broken({}, recorded({ "range/10.0.0.0-10.0.0.255": 0, "range/10.0.7.0-10.0.7.255": 7 }));
    expect(ranges(load({ pools: [more] }, CONTROLLER, first.lastGood), "p")).toEqual(["10.0.0.0-10.0.0.255"]);
  });

  test("joins claims of different age to one range, and fails if its serviceAllocation is invalid", () => {
    const claims = { "range/10.0.0.0-10.0.0.127": 0, "range/10.0.0.128-10.0.0.255": 3, "range/2001:db8::-2001:db8::f": 3 };
    expect(ranges(load({ pools: [broken({}, recorded(claims))] }), "p")).toEqual(["10.0.0.0-10.0.0.255", "2001:db8::-2001:db8::f"]);
    const everyone = broken({ serviceAllocation: { namespaces: ["shop", "shop"] } });
    expect(states(load({ pools: [everyone] }))).toEqual({ "IPAddressPool/p": "Failed" });
  });

  test("does not get the addresses of another pool by an edit, and both keep their own", () => {
    const claims = { "range/10.0.0.0-10.0.0.255": 0, "range/10.0.1.0-10.0.1.255": 5, "range/10.0.9.0-10.0.9.255": 5 };
    const pools = [
      pool("p", ["10.0.0.0/24", "10.0.1.0/24", "10.0.9.0/24"], {}, recorded(claims)),
      pool("q", ["10.0.1.0/24"], {}, { hour: 1, claims: { "range/10.0.1.0-10.0.1.255": 1 } }),
    ];
    const loaded = load({ pools }, CONTROLLER);
    expect(states(loaded)).toEqual({ "IPAddressPool/p": "KeptPrevious", "IPAddressPool/q": "Applied" });
    expect([ranges(loaded, "p"), ranges(loaded, "q")]).toEqual([["10.0.0.0-10.0.0.255"], ["10.0.1.0/24"]]);
  });

  test("does not keep ranges that it never had", () => {
    const never = { "range/10.0.1.0-10.0.1.255": 3, "range/10.0.9.0-10.0.9.255": 3 };
    const q = pool("q", ["10.0.1.0/24"], {}, { hour: 1, claims: { "range/10.0.1.0-10.0.1.255": 1 } });
    expect(states(load({ pools: [broken({}, recorded(never)), q] }))["IPAddressPool/p"]).toBe("Failed");
    const conditions = [
      { type: "Exhausted", status: "Unknown" as const, reason: "PoolInvalid", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ];
    const gaveNothing = { ...broken(), status: { ...broken().status, conditions } };
    expect(states(load({ pools: [gaveNothing] }))).toEqual({ "IPAddressPool/p": "Failed" });
    // An invalid pool claims nothing, so that none of its ranges is recorded.
    expect(claimsOf({ kind: "IPAddressPool", object: pool("p", ["10.0.0.0/24", "nonsense"]) })).toEqual([]);
  });
});
