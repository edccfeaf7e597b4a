import type { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import type { RawFRRConfig } from "../../api/openpe/raw-frr-config.ts";
import type { Underlay } from "../../api/openpe/underlay.ts";
import { merge, parse } from "../../frr/config.ts";
import type { ConfigLine, Fragment } from "../../frr/fragment.ts";
import { profileLine } from "../../frr/render-bfd.ts";
import { neighborLines, neighborOptions } from "../../frr/render-neighbor.ts";
import type { Family } from "../../ip/address.ts";
import { parseAddress } from "../../ip/address.ts";
import { seconds } from "../../util/duration.ts";
import type { SessionAddresses } from "../validate/addresses.ts";
import type { Neighbor } from "../validate/neighbors.ts";
import { routeTarget } from "../validate/route-target.ts";
import type { HostSession } from "../validate/host-session.ts";

// Every line is written as FRR prints it, and none that FRR would hide as a default: what is hidden looks missing, and would be sent
// again and again.

/** What every router has, also one without an Underlay. Not its hostname: vtysh has one of its own, and daemons do not take it from a file. */
export function baseFragment(): Fragment {
  return {
    owner: "Router/base",
    lines: [
      { line: "log timestamp precision 3" },
      // zebra keeps nexthop objects of a removed interface, and then rejects routes through it when it is back.
      { line: "no zebra nexthop kernel enable" },
      { line: "ip nht resolve-via-default" },
      { line: "ipv6 nht resolve-via-default" },
      { line: "route-map allowall permit 1", inside: [] },
    ],
  };
}

export interface UnderlayRenderInput {
  readonly spec: Underlay["spec"];
  readonly routerId: string;
  /** The VTEP's address where it is ours to announce. */
  readonly announcedVtep?: string;
  /** By the neighbor's address as it is written. */
  readonly passwords: ReadonlyMap<string, string>;
}

export function underlayFragment(owner: string, { spec, routerId, announcedVtep, passwords }: UnderlayRenderInput): Fragment {
  const neighbors = spec.neighbors ?? [];
  const inFamily = (family: Family) =>
    neighbors
      .filter(({ address }) => parseAddress(address).family === family)
      .flatMap((neighbor) => fabricNeighborInFamily(neighbor, spec.asn));
  const profiles = neighbors.flatMap(bfdProfile);
  return {
    owner,
    lines: [
      ...context("bfd", profiles),
      {
        line: `router bgp ${spec.asn}`,
        inside: [
          ...instance(routerId),
          ...neighbors.flatMap((neighbor) => fabricNeighbor(neighbor, spec.asn, passwords.get(neighbor.address))),
          ...addressFamily("ipv4 unicast", [...(announcedVtep ? [network(`${announcedVtep}/32`)] : []), ...inFamily(4)]),
          ...addressFamily("ipv6 unicast", inFamily(6)),
          ...addressFamily(
            "l2vpn evpn",
            spec.evpn ? [...neighbors.flatMap((one) => fabricNeighborInFamily(one, spec.asn)), { line: "advertise-all-vni" }] : [],
          ),
        ],
      },
    ],
  };
}

function fabricNeighbor(neighbor: Neighbor, asn: number, password: string | undefined): ConfigLine[] {
  const { bfd, holdTime, keepaliveTime, connectTime, port, ebgpMultiHop } = neighbor;
  const timers = holdTime !== undefined && keepaliveTime !== undefined;
  return neighborLines({
    peer: parseAddress(neighbor.address),
    asn,
    remoteAs: neighbor.asn,
    password,
    port,
    ebgpMultiHop,
    ...(timers && { timers: { keepalive: wholeSeconds(keepaliveTime), hold: wholeSeconds(holdTime) } }),
    ...(connectTime !== undefined && { connectTime: wholeSeconds(connectTime) }),
    ...(bfd && { bfd: { profile: hasProfile(neighbor) ? profileName(neighbor) : undefined } }),
  });
}

/** An external neighbor may send back what carries our own AS number; to an internal one we are the way to what the hosts announce. */
function fabricNeighborInFamily({ address, asn }: Neighbor, ownAsn: number): ConfigLine[] {
  return neighborOptions(parseAddress(address).toString(), ["activate", asn === ownAsn ? "next-hop-self force" : "allowas-in"]);
}

/** The BFD profile of a neighbor that asks for more than plain BFD. */
function bfdProfile(neighbor: Neighbor): ConfigLine[] {
  return hasProfile(neighbor) ? [profileLine(profileName(neighbor), neighbor.bfd ?? {})] : [];
}

function hasProfile({ bfd = {} }: Neighbor): boolean {
  return Object.values(bfd).some((value) => value !== undefined);
}

function profileName({ address }: Neighbor): string {
  return `neighbor-${parseAddress(address).toString()}`;
}

function wholeSeconds(duration: string): number {
  return Math.trunc(seconds(duration) ?? 0);
}

/** The ends of a host session by family. */
export type SessionPairs = ReadonlyMap<Family, SessionAddresses>;

export function l3vniFragment(
  owner: string,
  { vrf, vni, hostsession, exportRTs, importRTs }: L3VNI["spec"],
  { asn, routerId, ends }: { asn: number; routerId: string; ends: SessionPairs },
): Fragment {
  const hosts = [...ends.values()].map(({ host }) => host.address.toString());
  const inFamily = (family: Family): ConfigLine[] => [...hostRoute(ends.get(family)), ...hosts.flatMap(acceptAll)];
  const own = hostsession?.asn ?? asn;
  const automatic = `${own % 65_536}:${vni}`;
  return {
    owner,
    lines: [
      { line: `vrf ${vrf}`, inside: [{ line: `vni ${vni}` }] },
      {
        line: `router bgp ${own} vrf ${vrf}`,
        inside: [
          ...instance(routerId),
          ...hosts.flatMap((host) => neighborOptions(host, [`remote-as ${hostsession?.hostasn}`])),
          ...addressFamily("ipv4 unicast", inFamily(4)),
          ...addressFamily("ipv6 unicast", inFamily(6)),
          ...addressFamily("l2vpn evpn", [
            { line: "advertise ipv4 unicast" },
            { line: "advertise ipv6 unicast" },
            ...targets("import", automatic, importRTs),
            ...targets("export", automatic, exportRTs),
          ]),
        ],
      },
    ],
  };
}

/** An L3VNI's fragment that announces the subnets of the L2VNIs in its VRF as well. */
export function withSubnets(fragment: Fragment, prefixes: readonly string[]): Fragment {
  const instance = fragment.lines.find(({ line }) => line.startsWith("router bgp "));
  if (!instance || prefixes.length === 0) return fragment;
  const of = (family: Family) => prefixes.filter((prefix) => prefix.includes(":") === (family === 6)).map(network);
  const inside = [...addressFamily("ipv4 unicast", of(4)), ...addressFamily("ipv6 unicast", of(6))];
  const { owner } = fragment;
  return { owner, lines: merge([fragment, { owner, lines: [{ line: instance.line, inside }] }]) };
}

export function passthroughFragment(owner: string, { hostsession }: L3Passthrough["spec"], asn: number, ends: SessionPairs): Fragment {
  const inFamily = (family: Family): ConfigLine[] => {
    const host = ends.get(family)?.host.address.toString();
    return host === undefined ? [] : [...hostRoute(ends.get(family)), ...acceptAll(host)];
  };
  return {
    owner,
    lines: [
      {
        line: `router bgp ${asn}`,
        inside: [
          ...[...ends.values()].flatMap(({ host }) => passthroughNeighbor(host.address.toString(), hostsession, asn)),
          ...addressFamily("ipv4 unicast", inFamily(4)),
          ...addressFamily("ipv6 unicast", inFamily(6)),
        ],
      },
    ],
  };
}

/** The session is in the fabric's own instance, whose AS number can differ from the one that the host uses. */
function passthroughNeighbor(host: string, session: HostSession, asn: number): ConfigLine[] {
  const localAs = session.asn === asn ? [] : [`local-as ${session.asn} no-prepend replace-as`];
  return neighborOptions(host, [`remote-as ${session.hostasn}`, ...localAs]);
}

export function rawFragment(owner: string, { rawConfig }: RawFRRConfig["spec"]): Fragment {
  return { owner, lines: parse(rawConfig) };
}

function instance(routerId: string): ConfigLine[] {
  return [
    { line: `bgp router-id ${routerId}` },
    { line: "no bgp ebgp-requires-policy" },
    { line: "no bgp default ipv4-unicast" },
    { line: "no bgp network import-check" },
  ];
}

function hostRoute(addresses: SessionAddresses | undefined): ConfigLine[] {
  if (!addresses) return [];
  const { address } = addresses.host;
  return [network(`${address.toString()}/${address.family === 4 ? 32 : 128}`)];
}

function acceptAll(neighbor: string): ConfigLine[] {
  return neighborOptions(neighbor, ["activate", "route-map allowall in", "route-map allowall out"]);
}

/**
 * The one that FRR derives by itself comes last: while no other is listed FRR takes no notice of it, and the first other then takes its place. Alone it is what holds
 * anyway.
 */
function targets(way: "import" | "export", automatic: string, texts: readonly string[] = []): ConfigLine[] {
  const unique = new Set(texts.flatMap((text) => routeTarget(text) ?? []));
  const listed = unique.delete(automatic);
  const ordered = unique.size > 0 && listed ? [...unique, automatic] : [...unique];
  return ordered.map((target) => ({ line: `route-target ${way} ${target}` }));
}

function network(prefix: string): ConfigLine {
  return { line: `network ${prefix}` };
}

/** FRR does not show an empty address family. */
function addressFamily(family: "ipv4 unicast" | "ipv6 unicast" | "l2vpn evpn", inside: readonly ConfigLine[]): ConfigLine[] {
  return context(`address-family ${family}`, inside);
}

function context(line: string, inside: readonly ConfigLine[]): ConfigLine[] {
  return inside.length === 0 ? [] : [{ line, inside }];
}
