import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LabelSelector } from "../../api/core/label-selector.ts";
import type { L2Ad } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import type { NotAnnounced } from "../reasons.ts";
import { L2Elections } from "./l2-election.ts";
import { interfacesOn } from "./l2-decision.ts";
import { PoolIndex } from "../config/pool-index.ts";
import { config, l2Ad, node, pool, service } from "../testing/announcement-fixtures.ts";

const POOLS = [pool("pool", ["10.0.0.0/24", "fd00::/64"])];
const ALL = ["node-a", "node-b", "node-c"];
const NODES = ALL.map((name, index) => node(name, { labels: { rack: String(index) } }));
const on = (rack: string): LabelSelector => ({ matchLabels: { rack } });
const preferring = (weight: number, rack: string) => ({ weight, selector: on(rack) });

const shuffled = <T>(list: T[]) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }));

/** The nodes, this being so for some of them. */
const nodesWith = (what: "excluded" | "networkUnavailable", ...names: string[]) =>
  NODES.map(({ name, labels }) => node(name, { labels, [what]: names.includes(name) }));

interface Case {
  readonly service?: ServiceView;
  readonly nodes?: readonly NodeView[];
  readonly ads?: readonly L2Ad[];
  readonly dead?: readonly string[];
}

const AD = l2Ad("ad");

function decide({ service: of = service(["10.0.0.1"]), nodes = NODES, ads = [AD], dead = [] }: Case) {
  const isAlive = (name: string) => !dead.includes(name);
  const election = new L2Elections().hold(of, {
    nodes,
    config: config({ pools: POOLS, l2Ads: ads }),
    pools: new PoolIndex(POOLS),
    isAlive,
  });
  if ("not" in election) return election;
  const winner = nodes.find(({ name }) => name === election.order[0]);
  return { order: election.order, interfaces: winner && interfacesOn(winner, election.ads) };
}

function order(wanted: Case) {
  const decision = decide(wanted);
  return "not" in decision ? decision.not : decision.order.join(",");
}

const reasons: [NotAnnounced, string, Case][] = [
  ["noIPAllocated", "a Service without an address", { service: service([]) }],
  ["ipNotAllowed", "an address of no pool", { service: service(["192.0.2.1"]) }],
  ["noMatchingAdvertisement", "no advertisement", { ads: [] }],
  ["noMatchingAdvertisement", "advertisements of other pools", { ads: [l2Ad("ad", { pools: new Set(["other"]) })] }],
  ["noMatchingAdvertisement", "an advertisement for other Services", { ads: [l2Ad("ad", { serviceSelectors: [on("1")] })] }],
  ["noMatchingAdvertisement", "an advertisement that selects no node", { ads: [l2Ad("ad", { nodeSelectors: [on("9")] })] }],
  [
    "sharedIPWithServiceSelector",
    "a shared address and an advertisement that selects Services",
    {
      service: service(["10.0.0.1"], { sharingKey: "key", labels: { rack: "1" } }),
      ads: [AD, l2Ad("choosy", { serviceSelectors: [on("1")] })],
    },
  ],
  ["notOwner", "all candidates gone", { dead: ALL }],
  ["nodeNetworkUnavailable", "no node with network", { nodes: nodesWith("networkUnavailable", ...ALL) }],
  ["nodeLabeledExcludeBalancers", "all nodes excluded", { nodes: nodesWith("excluded", ...ALL) }],
  [
    "noLocalEndpoints",
    "local traffic, the only endpoint on a node that is excluded",
    {
      service: service(["10.0.0.1"], { local: true, endpoints: { any: true, nodes: new Set(["node-a"]) } }),
      nodes: nodesWith("excluded", "node-a"),
    },
  ],
  ["noEndpoints", "no endpoints", { service: service(["10.0.0.1"], { endpoints: { any: false, nodes: new Set() } }) }],
];

test.each(reasons)("%s: %s", (reason, _, wanted) => {
  expect(order(wanted)).toBe(reason);
});

describe("the election", () => {
  test.each([
    ["10.0.0.1", "node-b,node-a,node-c"],
    ["10.0.0.2", "node-b,node-c,node-a"],
  ])("orders the candidates for %s as %s, like MetalLB", (address, expected) => {
    expect(order({ service: service([address]) })).toBe(expected);
  });

  test("uses the first address of the Service", () => {
    expect(order({ service: service(["10.0.0.2", "fd00::1"]) })).toBe("node-b,node-c,node-a");
  });

  test("skips nodes that are dead, excluded or without network", () => {
    expect(order({ dead: ["node-b"] })).toBe("node-a,node-c");
    expect(order({ nodes: nodesWith("excluded", "node-b") })).toBe("node-a,node-c");
    expect(order({ nodes: nodesWith("networkUnavailable", "node-a") })).toBe("node-b,node-c");
  });

  test("considers only nodes with endpoints if externalTrafficPolicy is Local", () => {
    expect(order({ service: service(["10.0.0.1"], { local: true, endpoints: { any: true, nodes: new Set(["node-c"]) } }) })).toBe("node-c");
  });

  test("puts preferred nodes first and adds up weights across advertisements", () => {
    const ads = [l2Ad("a", { preferences: [preferring(10, "0"), preferring(15, "2")] }), l2Ad("b", { preferences: [preferring(10, "0")] })];
    expect(order({ ads })).toBe("node-a,node-c,node-b");
  });

  test("ignores the preference of an advertisement that does not select the node", () => {
    const ads = [AD, l2Ad("choosy", { nodeSelectors: [on("1")], preferences: [preferring(100, "2")] })];
    expect(order({ ads })).toBe("node-b,node-a,node-c");
  });

  test("never elects a preferred node that no advertisement selects", () => {
    expect(order({ ads: [l2Ad("ad", { nodeSelectors: [on("0")], preferences: [preferring(100, "1")] })] })).toBe("node-a");
  });
});

describe("the interfaces", () => {
  test("are those of all advertisements that select the elected node", () => {
    const ads = [
      l2Ad("a", { interfaces: ["eth1", "eth0"] }),
      l2Ad("b", { interfaces: ["eth2", "eth1"] }),
      l2Ad("elsewhere", { interfaces: ["eth9"], nodeSelectors: [on("2")] }),
    ];
    expect(decide({ ads })).toEqual({ order: ["node-b", "node-a", "node-c"], interfaces: ["eth0", "eth1", "eth2"] });
  });

  test("are all interfaces if one of the advertisements names none", () => {
    expect(decide({ ads: [l2Ad("a", { interfaces: ["eth1"] }), AD] })).toMatchObject({ interfaces: undefined });
  });
});

test("the decision is the same on every node and for every order of nodes and advertisements", () => {
  const nodes = fc
    .uniqueArray(fc.record({ name: fc.stringMatching(/^[a-z]{1,6}$/), rack: fc.constantFrom("0", "1", "2") }), {
      selector: ({ name }) => name,
      maxLength: 8,
    })
    .map((list) => list.map(({ name, rack }) => node(name, { labels: { rack } })));
  const ads = fc
    .array(fc.record({ weight: fc.integer({ min: 1, max: 3 }), rack: fc.constantFrom("0", "1", "2") }), { minLength: 1, maxLength: 4 })
    .map((list) =>
      list.map(({ weight, rack }, index) => l2Ad(`ad-${index}`, { preferences: [preferring(weight, rack)], interfaces: [rack] })),
    );
  fc.assert(
    fc.property(nodes.chain(shuffled), ads.chain(shuffled), ([nodes, otherNodes], [ads, otherAds]) => {
      expect(decide({ nodes: otherNodes, ads: otherAds })).toEqual(decide({ nodes, ads }));
    }),
    { seed: 3, numRuns: 200 },
  );
});

test("when the elected node dies, the next candidate takes over and the order of the others stays", () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 2, maxLength: 8 });
  fc.assert(
    fc.property(names, (list) => {
      const nodes = list.map((name) => node(name));
      const before = order({ nodes }).split(",");
      expect(order({ nodes, dead: before.slice(0, 1) }).split(",")).toEqual(before.slice(1));
    }),
    { seed: 3, numRuns: 200 },
  );
});
