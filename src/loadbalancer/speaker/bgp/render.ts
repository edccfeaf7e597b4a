import { createHash } from "node:crypto";
import { profileLine } from "../../../frr/render-bfd.ts";
import { parse } from "../../../frr/config.ts";
import type { ConfigLine, Fragment } from "../../../frr/fragment.ts";
import { neighborLines, neighborOptions } from "../../../frr/render-neighbor.ts";
import { EXTRAS } from "../../../frr/raw-text.ts";
import { Address } from "../../../ip/address.ts";
import type { Config, Peer, Profile } from "../../config/config.ts";

// Every line is written as FRR prints it, without defaults, which FRR does not print: they would look missing and be sent again and again,
// some of them resetting a session.

export interface OwnNode {
  readonly name: string;
  readonly internalIPv4?: string;
}

export type FamilyName = Peer["families"][number];

/** After all permitting clauses. */
const LAST = 65_535;

export const BASE: Fragment = {
  owner: "Speaker/base",
  lines: [
    { line: "log timestamp precision 3" },
    // zebra keeps nexthop objects of a removed interface, and then rejects routes through a new one of the same name.
    { line: "no zebra nexthop kernel enable" },
    { line: "ip nht resolve-via-default" },
    { line: "ipv6 nht resolve-via-default" },
  ],
};

/** The `router bgp` line of the peer's instance. */
export function instanceOf({ myAsn, vrf }: Pick<Peer, "myAsn" | "vrf">): string {
  return vrf === "" ? `router bgp ${myAsn}` : `router bgp ${myAsn} vrf ${vrf}`;
}

/** FRR's name of the peer within its instance. */
function neighborOf({ address, interface: device }: Peer): string {
  return address?.toString() ?? device ?? "";
}

/** With its VRF: the suffix of its route maps, as in MetalLB. */
function idOf(peer: Peer): string {
  return peer.vrf === "" ? neighborOf(peer) : `${neighborOf(peer)}-${peer.vrf}`;
}

/** The route map that selects its prefixes. */
export function outMapOf(peer: Peer): string {
  return `${idOf(peer)}-out`;
}

export function profileFragment(profile: Profile): Fragment {
  return { owner: `BFDProfile/${profile.name}`, lines: [{ line: "bfd", inside: [profileLine(profileName(profile.name), profile)] }] };
}

/** FRR silently truncates names after 63 characters. */
function profileName(name: string): string {
  return name.length <= 63 ? name : `${name.slice(0, 52)}-${createHash("sha256").update(name).digest("hex").slice(0, 10)}`;
}

export function extrasFragment(extras: string): Fragment | undefined {
  return extras.trim() === "" ? undefined : { owner: EXTRAS, lines: parse(extras) };
}

/** One per peer, each with what its instance needs. */
export function peerFragments({ peers, extras }: Config, node: OwnNode): Fragment[] {
  const taken = new Set(
    [...extras.matchAll(/^[ \t]*route-map (\S+) (?:permit|deny) (\d+)\s*$/gm)].map(([, map, order]) => `${map} ${order}`),
  );
  return [...peers.values()].map((peer) => {
    const [inMap, outMap] = [`${idOf(peer)}-in`, outMapOf(peer)];
    // MetalLB's users permit incoming routes with an extra clause of this number.
    const inLines = taken.has(`${inMap} 20`) ? [] : [{ line: `route-map ${inMap} deny 20`, inside: [] }];
    return {
      owner: `BGPPeer/${peer.name}`,
      lines: [
        ...inLines,
        { line: `route-map ${outMap} deny ${LAST}`, inside: [] },
        {
          line: instanceOf(peer),
          inside: [
            ...instanceLines(routerIdOf(peer, peers, node)),
            ...sessionLines(peer),
            ...peer.families.map((family) => ({
              line: addressFamily(family),
              inside: neighborOptions(neighborOf(peer), ["activate", `route-map ${inMap} in`, `route-map ${outMap} out`]),
            })),
          ],
        },
      ],
    };
  });
}

export function addressFamily(family: FamilyName): string {
  return family === "IPv4" ? "address-family ipv4 unicast" : "address-family ipv6 unicast";
}

function instanceLines(routerId: string): ConfigLine[] {
  return [
    "no bgp ebgp-requires-policy",
    "no bgp default ipv4-unicast",
    "bgp graceful-restart preserve-fw-state",
    "no bgp network import-check",
    `bgp router-id ${routerId}`,
    // While bgpd coalesces the updates of a new session it can lose a withdrawal, and the neighbor keeps the route.
    "coalesce-time 0",
  ].map((line) => ({ line }));
}

function sessionLines({ myAsn, peerAsn, localAsn, address, interface: device = "", bfdProfile, ...rest }: Peer): ConfigLine[] {
  return neighborLines({
    ...rest,
    peer: address ?? { interface: device },
    asn: myAsn,
    remoteAs: peerAsn,
    localAs: localAsn,
    ...(bfdProfile !== undefined && { bfd: { profile: profileName(bfdProfile) } }),
  });
}

/** One per instance, from any of its peers. */
function routerIdOf({ vrf }: Peer, peers: Config["peers"], { name, internalIPv4 }: OwnNode): string {
  for (const peer of peers.values()) if (peer.vrf === vrf && peer.routerId !== undefined) return peer.routerId;
  return internalIPv4 ?? routerIdOfName(name);
}

/** From 1.0.0.0 to 223.255.255.255: other values are not valid router ids. */
function routerIdOfName(name: string): string {
  const hash = createHash("sha256").update(name).digest().readUInt32BE();
  return new Address(4, 0x01000000n + (BigInt(hash) % (0xe0000000n - 0x01000000n))).toString();
}
