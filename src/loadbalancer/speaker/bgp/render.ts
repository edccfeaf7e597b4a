import { createHash } from "node:crypto";
import { profileLine } from "../../../frr/render-bfd.ts";
import { parse } from "../../../frr/config.ts";
import type { ConfigLine, Fragment } from "../../../frr/fragment.ts";
import { neighborLines, neighborOptions } from "../../../frr/render-neighbor.ts";
import { EXTRAS } from "../../../frr/raw-text.ts";
import { Address } from "../../../ip/address.ts";
import type { Config, Peer, Profile } from "../../config/config.ts";

// Every line stands here as FRR prints it, and none that FRR would hide as a default: what is hidden looks missing, and would be sent
// again and again, some of it to the cost of a session.

export interface OwnNode {
  readonly name: string;
  readonly internalIPv4?: string;
}

export type FamilyName = Peer["families"][number];

/** After all that lets something pass. */
const LAST = 65_535;

export const BASE: Fragment = {
  owner: "Speaker/base",
  lines: [
    { line: "log timestamp precision 3" },
    // zebra goes on believing in nexthop objects that went away with an interface, and then rejects routes through the one that came back.
    { line: "no zebra nexthop kernel enable" },
    { line: "ip nht resolve-via-default" },
    { line: "ipv6 nht resolve-via-default" },
  ],
};

/** The line that opens the instance that the peer is in. */
export function instanceOf({ myAsn, vrf }: Pick<Peer, "myAsn" | "vrf">): string {
  return vrf === "" ? `router bgp ${myAsn}` : `router bgp ${myAsn} vrf ${vrf}`;
}

/** What FRR knows the peer by within its instance. */
function neighborOf({ address, interface: device }: Peer): string {
  return address?.toString() ?? device ?? "";
}

/** The same and its VRF: what its route maps are called after, as MetalLB calls them. */
function idOf(peer: Peer): string {
  return peer.vrf === "" ? neighborOf(peer) : `${neighborOf(peer)}-${peer.vrf}`;
}

/** What decides which prefixes it gets to hear. */
export function outMapOf(peer: Peer): string {
  return `${idOf(peer)}-out`;
}

export function profileFragment(profile: Profile): Fragment {
  return { owner: `BFDProfile/${profile.name}`, lines: [{ line: "bfd", inside: [profileLine(profileName(profile.name), profile)] }] };
}

/** FRR has room for 63 characters, and cuts off the rest without a word. */
function profileName(name: string): string {
  return name.length <= 63 ? name : `${name.slice(0, 52)}-${createHash("sha256").update(name).digest("hex").slice(0, 10)}`;
}

export function extrasFragment(extras: string): Fragment | undefined {
  return extras.trim() === "" ? undefined : { owner: EXTRAS, lines: parse(extras) };
}

/** All peers that there are, each with what its instance needs. */
export function peerFragments({ peers, extras }: Config, node: OwnNode): Fragment[] {
  const taken = new Set(
    [...extras.matchAll(/^[ \t]*route-map (\S+) (?:permit|deny) (\d+)\s*$/gm)].map(([, map, order]) => `${map} ${order}`),
  );
  return [...peers.values()].map((peer) => {
    const [inMap, outMap] = [`${idOf(peer)}-in`, outMapOf(peer)];
    // MetalLB's users let routes in by saying otherwise in this very place.
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

/** One for the instance, from any of its peers. */
function routerIdOf({ vrf }: Peer, peers: Config["peers"], { name, internalIPv4 }: OwnNode): string {
  for (const peer of peers.values()) if (peer.vrf === vrf && peer.routerId !== undefined) return peer.routerId;
  return internalIPv4 ?? routerIdOfName(name);
}

/** From 1.0.0.0 to 223.255.255.255: others take nothing else for a router's. */
function routerIdOfName(name: string): string {
  const hash = createHash("sha256").update(name).digest().readUInt32BE();
  return new Address(4, 0x01000000n + (BigInt(hash) % (0xe0000000n - 0x01000000n))).toString();
}
