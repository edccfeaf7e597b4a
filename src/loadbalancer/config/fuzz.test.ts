import * as fc from "fast-check";
import { expect, test } from "vitest";
import { selects } from "../../api/core/label-selector.ts";
import { parts } from "../testing/config-generators.ts";
import type { Config, Peer } from "./config.ts";
import type { Loaded, ConfigScope } from "./load.ts";
import type { Labeled } from "./objects.ts";
import type { RuleId } from "./rules.ts";
import { RULES } from "./rules.ts";
import { bgpAd, CLUSTER, l2Ad, load, type ConfigParts, pool, profile, readsAs, states } from "../testing/config-fixtures.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const soak = SOAK_MINUTES > 0;
/** Objects that go through loadConfig, some fourteen in a run. */
const OBJECTS = soak ? 1_000_000 : 20_000;
const RUNS = { seed: soak ? Date.now() % 1_000_000 : 11, numRuns: Math.ceil(OBJECTS / 12) };
const SOME = { seed: 3, numRuns: soak ? 20_000 : 150 };
const timeout = soak ? 30 * 60_000 : 120_000;
const VIEWS: ConfigScope[] = [CLUSTER, { of: "node", node: "n1" }, { of: "controller" }];

const KINDS = ["pools", "peers", "bfdProfiles", "bgpAdvertisements", "l2Advertisements", "communities"] as const;

test(
  "for any objects the effective configuration is safe, and every failure has an object, a field and the text of its rule",
  () => {
    const observed = new Set<RuleId>();
    let objects = 0;
    fc.assert(
      fc.property(parts, fc.constantFrom(...VIEWS), (given, view) => {
        const loaded = load(given, view);
        assertSafe(loaded.config, given.nodes ?? []);
        assertOwned(loaded, given);
        for (const { rule } of loaded.failures) observed.add(rule);
        for (const kind of KINDS) objects += given[kind]?.length ?? 0;
      }),
      RUNS,
    );
    expect(objects).toBeGreaterThanOrEqual(OBJECTS);
    const twins: RuleId[] = ["A4", "B2", "G1", "N1", "P10"];
    expect(
      Object.keys(RULES)
        .filter((rule) => !observed.has(rule as RuleId))
        .sort(),
    ).toEqual(twins);
  },
  timeout,
);

function assertSafe({ pools, peers, bgpAds, l2Ads, bfdProfiles, extras }: Config, nodes: readonly Labeled[]): void {
  const ranges = [...pools.values()].flatMap((pool) => pool.ranges).sort((a, b) => a.compare(b));
  for (const [nth, range] of ranges.entries()) expect(ranges[nth + 1]?.overlaps(range) ?? false).toBe(false);
  for (const { interface: device = "eth0", vrf, password = "x", bfdProfile, timers } of peers.values()) {
    expect(device).toMatch(/^[A-Za-z][A-Za-z0-9._-]{0,14}$/);
    expect(vrf).toMatch(/^([A-Za-z][A-Za-z0-9._-]{0,14})?$/);
    expect(password).toMatch(/^[\x21-\x7e]{1,80}$/);
    expect(bfdProfile === undefined || bfdProfiles.has(bfdProfile)).toBe(true);
    expect(!timers || timers.hold === 0 || timers.keepalive > 0).toBe(true);
  }
  for (const node of nodes.length > 0 ? nodes : [undefined]) assertAgreed([...peers.values()].filter((one) => isFor(one, node)));
  for (const { communities, pools: covered } of bgpAds.values()) {
    for (const community of communities) expect(community).toMatch(/^(\d{1,5}:\d{1,5}|large(:\d{1,10}){3})$/);
    for (const name of covered) expect(pools.has(name)).toBe(true);
  }
  for (const { interfaces = [] } of l2Ads.values())
    for (const device of interfaces) expect(device).toMatch(/^[A-Za-z][A-Za-z0-9._-]{0,14}$/);
  expect(extras).not.toMatch(/[^\P{Cc}\n\t\r]/u);
}

function isFor({ nodeSelectors }: Peer, node: Labeled | undefined): boolean {
  return !node || nodeSelectors.length === 0 || nodeSelectors.some((one) => selects(one, node.labels));
}

/** What FRR takes of all peers of a node. */
function assertAgreed(peers: readonly Peer[]): void {
  expect(new Set(peers.map(({ routerId }) => routerId)).size).toBeLessThanOrEqual(1);
  for (const inVrf of Map.groupBy(peers, ({ vrf }) => vrf).values()) {
    expect(new Set(inVrf.map(({ myAsn }) => myAsn)).size).toBe(1);
    expect(new Set(inVrf.map(({ address, interface: device }) => address?.toString() ?? device)).size).toBe(inVrf.length);
  }
}

function assertOwned({ failures, resources, unread, config }: Loaded, given: ConfigParts): void {
  const failing = new Set(resources.filter(({ state }) => state !== "Applied").map(({ kind, name }) => `${kind}/${name}`));
  // An object whose Secret is unreadable has no failure.
  for (const { kind, name } of unread) expect(failing.delete(`${kind}/${name}`)).toBe(true);
  const blamed = new Set<string>();
  for (const { kind, name, field, message, rule, namespace } of failures) {
    expect([message, readsAs(rule, message)]).toEqual([message, true]);
    expect(message).not.toMatch(/[^\P{Cc}\n]/u);
    expect(field).toMatch(/^(spec\.|metadata\.name|data\.extras)/);
    if (kind === "ConfigMap") continue;
    expect(namespace).toBe("metallb-system");
    blamed.add(`${kind}/${name}`);
  }
  // Exactly the objects that are not applied as written have a failure.
  expect(blamed).toEqual(failing);
  const live = (of: string) => resources.filter(({ kind, state }) => kind === of && state === "Applied").map(({ name }) => name);
  expect([...config.pools.keys()]).toEqual(live("IPAddressPool"));
  expect([...config.peers.keys()]).toEqual(live("BGPPeer"));
  expect(resources.filter(({ kind }) => kind === "IPAddressPool")).toHaveLength(given.pools?.length ?? 0);
}

const shuffled = parts.chain((given) =>
  fc.tuple(
    fc.constant(given),
    fc.tuple(...KINDS.map((kind) => fc.shuffledSubarray<unknown>([...(given[kind] ?? [])], { minLength: given[kind]?.length ?? 0 }))),
  ),
);

test(
  "the order of the objects does not matter",
  () => {
    fc.assert(
      fc.property(shuffled, fc.constantFrom(...VIEWS), ([given, orders], view) => {
        const again = { ...given, ...Object.fromEntries(KINDS.map((kind, nth) => [kind, orders[nth]])) };
        expect(load(again, view)).toEqual(load(given, view));
      }),
      SOME,
    );
  },
  timeout,
);

test(
  "loading again with the last good versions is idempotent and loses no good version",
  () => {
    fc.assert(
      fc.property(parts, parts, fc.constantFrom(...VIEWS), (before, after, view) => {
        const first = load(before, view);
        const second = load({ ...before }, view, first.lastGood);
        expect({ ...second, config: undefined }).toEqual({ ...first, config: undefined });
        expect(second.config).toEqual(first.config);
        const edited = load(after, view, first.lastGood);
        assertSafe(edited.config, after.nodes ?? []);
        const rested = load(after, view, edited.lastGood);
        expect(rested.config).toEqual(edited.config);
      }),
      SOME,
    );
  },
  timeout,
);

/** Objects that ask for nothing which the random ones could have. */
const SIBLINGS = {
  pools: [pool("sibling", ["203.0.113.0/24"])],
  bfdProfiles: [profile("sibling")],
  l2Advertisements: [l2Ad("sibling", { ipAddressPools: ["sibling"] })],
  bgpAdvertisements: [bgpAd("sibling", { ipAddressPools: ["sibling"], peers: ["sibling"] })],
};

test(
  "a failure never affects unrelated objects",
  () => {
    fc.assert(
      fc.property(parts, fc.constantFrom(CLUSTER, { of: "node", node: "n1" } as const), (given, view) => {
        const everywhere = (given.pools ?? []).filter(({ spec }) => !spec.addresses.some((text) => text.startsWith("0.0.0.0/0")));
        const together = (kind: keyof typeof SIBLINGS) => [...(given[kind] ?? []), ...SIBLINGS[kind]];
        const loaded = load(
          {
            ...given,
            pools: [...everywhere, ...SIBLINGS.pools],
            bfdProfiles: together("bfdProfiles") as never,
            l2Advertisements: together("l2Advertisements") as never,
            bgpAdvertisements: [...(given.bgpAdvertisements ?? []).map(ofOthers), ...SIBLINGS.bgpAdvertisements],
          },
          view,
        );
        expect(Object.entries(states(loaded)).filter(([key, state]) => key.endsWith("/sibling") && state !== "Applied")).toEqual([]);
        expect(loaded.config.pools.get("sibling")?.ranges.map(String)).toEqual(["203.0.113.0/24"]);
        expect(loaded.failures.filter(({ name }) => name === "sibling")).toEqual([]);
      }),
      SOME,
    );
  },
  timeout,
);

/** Of the pools that are not siblings. */
function ofOthers(ad: NonNullable<ConfigParts["bgpAdvertisements"]>[number]): typeof ad {
  return { ...ad, spec: { ...ad.spec, ipAddressPools: ["a"], ipAddressPoolSelectors: [] } };
}

test(
  "ten thousand pools load in the time of a sort",
  () => {
    const many = Array.from({ length: 10_000 }, (_, nth) => pool(`p${nth}`, [`10.${nth >> 8}.${nth & 255}.0/24`]));
    const nested = Array.from({ length: 10_000 }, (_, nth) =>
      pool(`q${nth}`, [`11.0.0.0-11.${1 + (nth >> 8)}.${nth & 255}.0`], {}, { hour: 1 }),
    );
    const everything = pool("everything", ["0.0.0.0/0", "::/0"], {}, { hour: 2 });
    const { config, failures } = load({
      pools: [...many, ...nested, everything],
      bgpAdvertisements: [bgpAd("ad", { aggregationLength: 24 })],
    });
    expect(config.pools.size).toBe(10_001);
    expect(failures.filter(({ name }) => name !== "everything")).toHaveLength(9999);
  },
  timeout,
);
