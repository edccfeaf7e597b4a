import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { print } from "../../../frr/config.ts";
import type { Fragment } from "../../../frr/fragment.ts";
import { parsePrefix } from "../../../ip/prefix.ts";
import type { Advertised } from "../../announcement/decision.ts";
import { config, peer } from "../../testing/announcement-fixtures.ts";
import type { Peer } from "../../config/config.ts";
import { ServicePrefixes } from "./prefixes.ts";

const TOR = peer("tor", { address: "10.255.0.2" });
const SPINE = peer("spine", { address: "10.255.0.3" });

type Offer = Partial<Omit<Advertised, "prefix" | "peers">> & { peers?: readonly string[] };

function offer(prefix: string, { peers, advertisement = "ad", created = 0, communities = [], ...more }: Offer = {}): Advertised {
  return { prefix: parsePrefix(prefix), advertisement, created, communities, ...more, ...(peers && { peers: new Set(peers) }) };
}

type Services = Readonly<Record<string, readonly Advertised[]>>;

function networks(
  services: Services,
  peers: readonly Peer[] = [TOR],
  applied: readonly Fragment[] = [],
  found = new ServicePrefixes(),
): ServicePrefixes {
  found.follow(new Map(Object.entries(services)), config({ peers }).peers, applied);
  return found;
}

/** The lines of a Service, its classes named by what stands in them. */
function linesOf({ services, classes }: ServicePrefixes, owner: string): string[] {
  const known = services.get(owner);
  const names = new Map([...classes.keys()].map((name) => [name.replace("Class/", "class-"), name]));
  return print(known?.fragment.lines ?? [])
    .split("\n")
    .flatMap((line) => {
      const [, network, map = ""] = /^ {2}(network .*) route-map (\S+)$/.exec(line) ?? [];
      const sets = print(classes.get(names.get(map) ?? "")?.fragment.lines ?? [])
        .split("\n")
        .filter((line) => /^ (set (?!tag)|match)|^route-map .*-out/.test(line))
        .map((line) => line.trim().replace(/ \d+$/, ""));
      return network ? [[network, ...sets].join(" | ")] : [];
    });
}

test("a Service is one network line, in a prefix class that its peers permit", () => {
  const { services, classes } = networks({ "shop/web": [offer("10.0.0.1/32", { communities: ["64512:1"], localPref: 100 })] }, [
    TOR,
    SPINE,
  ]);
  const [name, { fragment } = { fragment: { lines: [] } }] = [...classes][0] ?? [];
  const hash = name?.replace("Class/", "");
  const [, tag] = /set tag (\d+)/.exec(print(fragment.lines)) ?? [];
  expect(print(fragment.lines)).toBe(`route-map class-${hash} permit 1
 set tag ${tag}
 set local-preference 100
 set community 64512:1
exit
!
route-map 10.255.0.2-out permit ${tag}
 match tag ${tag}
exit
!
route-map 10.255.0.3-out permit ${tag}
 match tag ${tag}
exit
!
`);
  expect(print(services.get("Service/shop/web")?.fragment.lines ?? [])).toBe(`router bgp 64500
 address-family ipv4 unicast
  network 10.0.0.1/32 route-map class-${hash}
 exit-address-family
exit
!
`);
});

test("ten thousand Services of one advertisement share one class", () => {
  const communities = ["64512:1"];
  const many = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, i) => [`shop/web-${i}`, [offer(`10.0.${i >> 8}.${i & 255}/32`, { communities })]]),
  );
  const { services, classes } = networks(many);
  expect([services.size, classes.size]).toEqual([10_000, 1]);
});

describe("a prefix", () => {
  test("is permitted to the peers of its advertisement with its address family", () => {
    const v6 = peer("v6", { address: "fd00::2" });
    const services = { "shop/web": [offer("10.0.0.1/32", { peers: ["spine", "v6"] }), offer("fd00:1::1/128", { peers: ["spine", "v6"] })] };
    expect(linesOf(networks(services, [TOR, SPINE, v6]), "Service/shop/web")).toEqual([
      "network 10.0.0.1/32 | route-map 10.255.0.3-out permit | match tag",
      "network fd00:1::1/128 | route-map fd00::2-out permit | match tag",
    ]);
  });

  test("is announced in each BGP instance with one of these peers", () => {
    const red = peer("red", { vrf: "red", myAsn: 64999 });
    const { services } = networks({ "shop/web": [offer("10.0.0.1/32")] }, [TOR, red]);
    expect(print(services.get("Service/shop/web")?.fragment.lines ?? [])).toMatch(
      /^router bgp 64500\n[^]*router bgp 64999 vrf red\n address-family ipv4 unicast\n {2}network 10.0.0.1\/32 route-map class-/,
    );
  });

  test("is not rendered if no peer receives it", () => {
    expect(networks({ "shop/web": [offer("10.0.0.1/32", { peers: ["unknown"] })] }).services.size).toBe(0);
    expect(networks({ "shop/web": [offer("10.0.0.1/32")] }, []).services.size).toBe(0);
  });

  test("gets a well-known community in the outbound route-map only, since FRR would obey no-export itself", () => {
    const { classes } = networks({ "shop/web": [offer("10.0.0.1/32", { communities: ["64512:1", "65535:65281"] })] });
    const text = print([...classes.values()][0]?.fragment.lines ?? []);
    expect(text).toMatch(
      /^route-map class-\w+ permit 1\n set tag \d+\nexit\n!\nroute-map 10.255.0.2-out permit \d+\n match tag \d+\n set community 64512:1 no-export\n/,
    );
  });

  test("may have other attributes for each peer", () => {
    const services = {
      "shop/web": [
        offer("10.0.0.1/32", { advertisement: "a", localPref: 100, peers: ["tor"] }),
        offer("10.0.0.1/32", { advertisement: "b", localPref: 200, peers: ["spine"] }),
      ],
    };
    expect(linesOf(networks(services, [TOR, SPINE]), "Service/shop/web")).toEqual([
      "network 10.0.0.1/32 | route-map 10.255.0.2-out permit | match tag | set local-preference | route-map 10.255.0.3-out permit | match tag | set local-preference",
    ]);
  });

  test("has its communities in FRR's order, and large ones on a line of their own", () => {
    const communities = ["64512:20", "64512:3", "large:64512:20:1", "large:64512:3:1", "0:0"];
    expect(linesOf(networks({ "shop/web": [offer("10.0.0.1/32", { communities })] }), "Service/shop/web")).toEqual([
      "network 10.0.0.1/32 | set community 0:0 64512:3 64512:20 | set large-community 64512:3:1 64512:20:1 | route-map 10.255.0.2-out permit | match tag",
    ]);
  });
});

const some = (from: number, count: number) => Array.from({ length: count }, (_, i) => `64512:${from + i}`);

describe("a prefix of several advertisements or Services", () => {
  test("has the communities of all of them", () => {
    const twoAds = {
      "shop/web": [offer("10.0.0.1/32", { communities: ["1:1"] }), offer("10.0.0.1/32", { advertisement: "b", communities: ["2:2"] })],
    };
    const twoServices = {
      "shop/web": [offer("10.0.0.0/24", { communities: ["1:1"] })],
      "shop/api": [offer("10.0.0.0/24", { communities: ["2:2"] })],
    };
    expect(linesOf(networks(twoAds), "Service/shop/web")[0]).toContain("network 10.0.0.1/32 | set community 1:1 2:2");
    expect(linesOf(networks(twoServices), "Service/shop/web")[0]).toContain("network 10.0.0.0/24 | set community 1:1 2:2");
    expect(linesOf(networks(twoServices), "Service/shop/web")).toEqual(linesOf(networks(twoServices), "Service/shop/api"));
  });

  test("has the local preference of the first Service, and the other advertisement fails with the reason", () => {
    const services = {
      "shop/web": [offer("10.0.0.1/32", { advertisement: "web", localPref: 200, communities: ["2:2"] })],
      "shop/api": [offer("10.0.0.1/32", { advertisement: "api", localPref: 100, communities: ["1:1"] })],
    };
    const found = networks(services);
    expect(linesOf(found, "Service/shop/web")[0]).toContain("network 10.0.0.1/32 | set local-preference | set community 1:1 |");
    expect([...found.rejected]).toEqual([
      ["web", ["local preference 200 for 10.0.0.1/32 at BGPPeer tor conflicts with local preference 100 of BGPAdvertisement api"]],
    ]);
  });

  test("leaves out an advertisement that would make more than 63 communities", () => {
    const services = {
      "shop/web": [
        offer("10.0.0.1/32", { advertisement: "a", communities: some(0, 63) }),
        offer("10.0.0.1/32", { advertisement: "b", communities: some(100, 1) }),
      ],
    };
    const found = networks(services);
    expect(linesOf(found, "Service/shop/web")[0]).toContain(some(0, 63).join(" "));
    expect(linesOf(found, "Service/shop/web")[0]).not.toContain("64512:100");
    expect([...found.rejected.values()].flat()).toEqual([
      "10.0.0.1/32 has 64 communities for BGPPeer tor, at most 63 fit one prefix: remove some",
    ]);
    expect(networks({ "shop/web": [offer("10.0.0.1/32", { communities: some(0, 64) })] }).services.size).toBe(0);
    expect(found.leftOut).toEqual(new Map([["shop/web", [{ advertisement: "b", prefix: "10.0.0.1/32", peers: ["tor"] }]]]));
  });

  test("leaves out the younger advertisement, whatever the names and the Service", () => {
    const old = offer("10.0.0.0/24", { advertisement: "z-old", created: 1, communities: some(0, 63) });
    const young = offer("10.0.0.0/24", { advertisement: "a-young", created: 2, communities: some(100, 1) });
    for (const services of [{ "shop/web": [young, old] }, { "shop/a": [young], "shop/b": [old] }, { "shop/a": [old], "shop/b": [young] }]) {
      expect([...networks(services).rejected.keys()]).toEqual(["a-young"]);
    }
  });
});

/** As `<class> <tag>`, sorted. */
const tagsOf = ({ classes }: ServicePrefixes) =>
  Array.from(classes, ([owner, { fragment }]) => `${owner} ${/set tag (\d+)/.exec(print(fragment.lines))?.[1]}`).sort();
const tagOf = (found: ServicePrefixes) => Number(tagsOf(found)[0]?.split(" ")[1]);

describe("the tags", () => {
  const offers = [offer("10.0.0.1/32"), offer("10.0.0.2/32", { advertisement: "b", peers: ["tor"] })];

  test("are the same for classes of the same peers, so that another class changes no outbound route-map", () => {
    const found = networks({ a: [offer("10.0.0.1/32")], b: [offer("10.0.0.2/32", { advertisement: "b", communities: ["1:1"] })] });
    expect(new Set(tagsOf(found).map((line) => line.split(" ")[1])).size).toBe(1);
    expect(found.classes.size).toBe(2);
  });

  test("of a class are stable, from the applied lines and without saved state", () => {
    const first = networks({ "shop/web": offers }, [TOR, SPINE]);
    const applied = [...first.classes.values()].map(({ fragment }) => fragment);
    expect(tagsOf(networks({ "shop/web": offers }, [TOR, SPINE], applied))).toEqual(tagsOf(first));
    expect(tagsOf(networks({ "shop/web": offers.toReversed() }, [SPINE, TOR]))).toEqual(tagsOf(first));
  });

  test("are never reused by another class", () => {
    const tag = tagOf(networks({ "shop/web": [offer("10.0.0.1/32")] }));
    const squatter = { owner: "Class/other", lines: [{ line: "route-map class-other permit 1", inside: [{ line: `set tag ${tag}` }] }] };
    expect(tagOf(networks({ "shop/web": [offer("10.0.0.1/32")] }, [TOR], [squatter]))).toBe(1 + (tag % 65_000));
  });
});

describe("an incremental update", () => {
  const web = [offer("10.0.0.1/32")];

  test("keeps the same fragment object if nothing changed, also after a full computation", () => {
    const found = networks({ "shop/web": web });
    const before = found.services.get("Service/shop/web");
    networks({ "shop/web": web, "shop/api": [offer("10.0.0.2/32")] }, [TOR], [], found);
    expect(found.services.get("Service/shop/web")).toBe(before);
    expect(found.services.get("Service/shop/api")).toBeDefined();
    networks({ "shop/web": [offer("10.0.0.1/32")] }, [peer("tor", { address: "10.255.0.2", port: 1179 })], [], found);
    expect(found.services.get("Service/shop/web")).toBe(before);
    expect(found.services.size).toBe(1);
  });

  test("has the result of a full computation, for any history", () => {
    const ads: readonly Offer[] = [
      { advertisement: "x", communities: ["1:1"], localPref: 100 },
      { advertisement: "y", communities: ["2:2"], localPref: 100, peers: ["tor"] },
      { advertisement: "z", communities: ["65535:65281"], localPref: 200, peers: ["spine"] },
    ];
    const state = fc.record({
      peers: fc.constantFrom([TOR], [TOR], [TOR, SPINE], [SPINE], []),
      services: fc.dictionary(
        fc.constantFrom("a/a", "b/b", "c/c"),
        fc.array(
          fc
            .tuple(fc.constantFrom("10.0.0.1/32", "10.0.0.2/32", "fd00::1/128"), fc.constantFrom(...ads))
            .map(([prefix, ad]) => offer(prefix, ad)),
          { maxLength: 3 },
        ),
      ),
    });
    fc.assert(
      fc.property(fc.array(state, { minLength: 1, maxLength: 6 }), (states) => {
        const found = new ServicePrefixes();
        for (const { services, peers } of states) networks(services, peers, [], found);
        const { services = {}, peers } = states.at(-1) ?? {};
        const atOnce = networks(services, peers);
        expect(inOrder(found.services)).toEqual(inOrder(atOnce.services));
        expect([...found.classes.keys()].sort()).toEqual([...atOnce.classes.keys()].sort());
        expect(inOrder(found.rejected)).toEqual(inOrder(atOnce.rejected));
      }),
      { seed: 3, numRuns: 300 },
    );
  });
});

function inOrder<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

test("the result does not depend on the order or the identity of Services, peers and advertisements", () => {
  const drawn = fc.array(
    fc.record({
      service: fc.constantFrom("a/a", "b/b", "c/c"),
      prefix: fc.constantFrom("10.0.0.1/32", "10.0.0.2/32", "fd00::1/128"),
      advertisement: fc.constantFrom("x", "y", "z"),
    }),
    { maxLength: 8 },
  );
  const ads: Record<string, Offer> = {
    x: { advertisement: "x", communities: ["1:1"], localPref: 100 },
    y: { advertisement: "y", communities: ["2:2"], localPref: 100, peers: ["tor"] },
    z: { advertisement: "z", communities: [], localPref: 200, peers: ["spine"] },
  };
  const build = (list: readonly { service: string; prefix: string; advertisement: string }[], peers: Peer[]) => {
    const services: Record<string, Advertised[]> = {};
    for (const { service, prefix, advertisement } of list) (services[service] ??= []).push(offer(prefix, ads[advertisement]));
    const { services: found, classes } = networks(services, peers);
    return {
      lines: Array.from(found, ([owner, { fragment }]) => [owner, ...print(fragment.lines).split("\n").sort()].join("\n")).sort(),
      classes: Array.from(classes, ([owner, { fragment }]) => owner + print(fragment.lines)).sort(),
    };
  };
  fc.assert(
    fc.property(
      drawn.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
      ([list, shuffled]) => {
        expect(build(shuffled, [SPINE, TOR])).toEqual(build(list, [TOR, SPINE]));
      },
    ),
    { seed: 3, numRuns: 200 },
  );
});
