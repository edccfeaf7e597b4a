import * as fc from "fast-check";
import { parseAddress } from "../../ip/address.ts";
import type { Advertised } from "../announcement/decision.ts";
import { decideBgp } from "../announcement/bgp-decision.ts";
import { PoolIndex } from "../config/pool-index.ts";
import { bgpAd, config, node, peer, pool, profile, service } from "./announcement-fixtures.ts";
import type { BgpAd, Peer, Profile } from "../config/config.ts";
import type { DesiredBgp } from "../speaker/bgp/apply.ts";

// Random speakers: peers with all that can be said of them, profiles, advertisements and Services. Pools of values are small, so that two of them share much, differ
// in single values, and take each other's addresses, names and VRFs.

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const PEER_NAMES = ["tor-a", "tor-b", "spine", "edge"] as const;
const PROFILE_NAMES = ["fast", "slow"] as const;
const POOLS = [pool("pool", ["10.0.0.0/16", "fd00:99::/64"])];

type Fields = Partial<Omit<Peer, "address">> & { address?: string };

const endpoint = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("192.168.11.2", "192.168.11.3", "192.168.12.2").map((address): Fields => ({ address })) },
  { weight: 2, arbitrary: fc.constantFrom("fd00:11::2", "fd00:12::2").map((address): Fields => ({ address })) },
  { weight: 1, arbitrary: fc.constantFrom("eth0", "eth1").map((name): Fields => ({ interface: name, families: ["IPv4", "IPv6"] })) },
);

const session = fc.record({
  peerAsn: fc.constantFrom<Peer["peerAsn"]>(64500, 64501, 64502, 4200000001, "internal", "external"),
  vrf: fc.constantFrom("", "", "", "red", "blue"),
  localAsn: some(fc.constantFrom(64998, 64999)),
  source: some(fc.constantFrom("192.168.11.1", "192.168.12.1")),
  port: some(fc.constantFrom(179, 1179, 1790)),
  timers: some(fc.constantFrom({ keepalive: 3, hold: 9 }, { keepalive: 60, hold: 180 }, { keepalive: 0, hold: 0 })),
  connectTime: some(fc.constantFrom(1, 5, 120)),
  password: some(fc.constantFrom("s3cret", 'p"a$s|s?', "%d")),
  bfdProfile: some(fc.constantFrom(...PROFILE_NAMES)),
  gracefulRestart: fc.boolean(),
  ebgpMultiHop: fc.boolean(),
  both: fc.boolean(),
});

function peerOf(
  name: string,
  where: Fields,
  options: typeof session extends fc.Arbitrary<infer S> ? S : never,
  asns: Readonly<Record<string, number>>,
): Peer {
  const { peerAsn, vrf, gracefulRestart, ebgpMultiHop, localAsn, source, port, timers, connectTime, password, bfdProfile, both } = options;
  const myAsn = asns[vrf] ?? 64500;
  const isExternal = peerAsn !== myAsn && peerAsn !== "internal";
  const isIPv4 = where.address !== undefined && !where.address.includes(":");
  return peer(name, {
    ...where,
    myAsn,
    peerAsn,
    vrf,
    gracefulRestart,
    // Nor several hops to what is on the link.
    ebgpMultiHop: ebgpMultiHop && where.interface === undefined,
    ...(both && { families: ["IPv4", "IPv6"] }),
    // FRR takes no local AS within the AS.
    ...(localAsn !== undefined && isExternal && { localAsn }),
    ...(source !== undefined && isIPv4 && { sourceAddress: parseAddress(source) }),
    ...(port !== undefined && { port }),
    ...(timers && { timers }),
    ...(connectTime !== undefined && { connectTime }),
    ...(password !== undefined && where.address !== undefined && { password }),
    ...(bfdProfile !== undefined && { bfdProfile }),
  });
}

const peers: fc.Arbitrary<Peer[]> = fc
  .record({
    asns: fc.record({
      "": fc.constantFrom(64500, 64500, 64500, 64500, 64500, 64500, 64500, 64510),
      red: fc.constantFrom(64500, 64511),
      blue: fc.constant(64500),
    }),
    drawn: fc.uniqueArray(fc.tuple(fc.constantFrom(...PEER_NAMES), endpoint, session), {
      comparator: ([a, x, p], [b, y, q]) => a === b || ((x.address ?? x.interface) === (y.address ?? y.interface) && p.vrf === q.vrf),
      maxLength: 4,
    }),
    routerId: some(fc.constantFrom("1.1.1.1", "2.2.2.2")),
  })
  .map(({ asns, drawn, routerId }) =>
    drawn.map(([name, where, options]) => Object.assign(peerOf(name, where, options, asns), routerId !== undefined && { routerId })),
  );

const profiles: fc.Arbitrary<Profile[]> = fc.uniqueArray(
  fc
    .record({
      name: fc.constantFrom(...PROFILE_NAMES),
      receiveInterval: some(fc.constantFrom(100, 300)),
      transmitInterval: some(fc.constantFrom(100, 250)),
      detectMultiplier: some(fc.constantFrom(3, 5, 255)),
      echoInterval: some(fc.constantFrom(50, 60)),
      minimumTtl: some(fc.constantFrom(1, 254)),
      echoMode: fc.boolean(),
      passiveMode: fc.boolean(),
    })
    .map(({ name, ...more }) => profile(name, Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)))),
  { selector: ({ name }) => name, maxLength: 2 },
);

const COMMUNITIES = ["64512:1", "64512:20", "0:0", "65535:65281", "65535:666", "large:64512:1:2", "large:4200000001:20:3"] as const;

const ads: fc.Arbitrary<BgpAd[]> = fc.uniqueArray(
  fc
    .record({
      name: fc.constantFrom("a", "b", "c"),
      localPref: some(fc.constantFrom(100, 200)),
      communities: fc.uniqueArray(fc.constantFrom<string>(...COMMUNITIES), { maxLength: 3 }),
      peers: some(fc.uniqueArray(fc.constantFrom<string>(...PEER_NAMES), { minLength: 1, maxLength: 3 })),
      aggregationLength: fc.constantFrom(32, 32, 24),
      aggregationLengthV6: fc.constantFrom(128, 128, 80),
    })
    .map(({ name, localPref, communities, peers, ...lengths }) =>
      bgpAd(name, {
        communities: communities.sort(),
        ...lengths,
        ...(localPref !== undefined && { localPref }),
        ...(peers && { peers: new Set(peers) }),
      }),
    ),
  { selector: ({ name }) => name, maxLength: 3 },
);

const addresses = fc.uniqueArray(fc.constantFrom("10.0.0.1", "10.0.0.2", "10.0.1.1", "10.0.2.1", "fd00:99::1", "fd00:99::2"), {
  maxLength: 6,
});

/** The announcements of a node, sometimes none. */
export const speakers: fc.Arbitrary<DesiredBgp> = fc
  .tuple(peers, profiles, ads, addresses, fc.constantFrom(undefined, "192.0.2.10", "192.0.2.11"))
  .map(([peers, bfdProfiles, bgpAds, addresses, internalIPv4]) => {
    const wanted = config({ pools: POOLS, peers, bfdProfiles, bgpAds });
    const services = new Map<string, readonly Advertised[]>();
    for (const address of addresses) {
      const key = `shop/web-${address}`;
      const decision = decideBgp(service([address], { key }), node("node-a"), wanted, new PoolIndex(POOLS));
      if ("announce" in decision) services.set(key, decision.announce);
    }
    return { config: wanted, node: { name: "node-a", ...(internalIPv4 !== undefined && { internalIPv4 }) }, services };
  });
