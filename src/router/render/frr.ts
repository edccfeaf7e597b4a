import type { HostSession, L3VNISpec, NeighborSpec, PassthroughSpec, UnderlaySpec } from "../model/specs.ts";
import type { RawFRRConfig } from "../../api/openpe/raw-frr-config.ts";
import { merge, parse } from "../../frr/config.ts";
import type { ConfigLine, Fragment } from "../../frr/fragment.ts";
import { profileLine } from "../../frr/render-bfd.ts";
import { neighborLines, neighborOptions } from "../../frr/render-neighbor.ts";
import type { Family } from "../../ip/address.ts";
import { parseAddress } from "../../ip/address.ts";
import { seconds } from "../../util/duration.ts";
import type { SessionAddresses } from "../validate/addresses.ts";
import { routeTarget } from "../validate/route-target.ts";

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
  readonly spec: UnderlaySpec;
  readonly routerId: string;
  /** The VTEP's address where it is ours to announce. */
  readonly announcedVtep?: string;
  /** By the neighbor's name in FRR. */
  readonly passwords: ReadonlyMap<string, string>;
  /** Whose unicast routes neighbors without a list of families exchange, besides those of their own address. */
  readonly unicast: readonly Family[];
}

export function underlayFragment(owner: string, { spec, routerId, announcedVtep, passwords, unicast }: UnderlayRenderInput): Fragment {
  const neighbors = spec.neighbors ?? [];
  const families = new Map(neighbors.map((one) => [one, familiesOf(one, spec, unicast)]));
  const inFamily = (family: NeighborFamily) =>
    neighbors.filter((one) => families.get(one)?.has(family)).flatMap((one) => fabricNeighborInFamily(one, family, spec.asn));
  const evpn = spec.evpn ? [...inFamily("evpn"), { line: "advertise-all-vni" }] : inFamily("evpn");
  const profiles = neighbors.flatMap(bfdProfile);
  return {
    owner,
    lines: [
      ...context("bfd", profiles),
      {
        line: `router bgp ${spec.asn}`,
        inside: [
          ...instance(routerId),
          ...ecmp(isMultipath(spec)),
          ...gracefulRestart(spec),
          ...neighbors.flatMap((neighbor) => {
            const extendedNextHop = isIPv6(neighbor) && families.get(neighbor)?.has("ipv4unicast");
            return fabricNeighbor(neighbor, spec, { password: passwords.get(peerName(neighbor)), extendedNextHop });
          }),
          ...addressFamily("ipv4 unicast", [...(announcedVtep ? [network(`${announcedVtep}/32`)] : []), ...inFamily("ipv4unicast")]),
          ...addressFamily("ipv6 unicast", inFamily("ipv6unicast")),
          ...addressFamily("l2vpn evpn", evpn),
        ],
      },
    ],
  };
}

type NeighborFamily = NonNullable<NeighborSpec["addressFamilies"]>[number]["type"];

/** As listed; otherwise the family of its address, `unicast` and EVPN. They do not depend on VNIs: another list would reset the session. */
function familiesOf(neighbor: NeighborSpec, { evpn }: UnderlaySpec, unicast: readonly Family[]): ReadonlySet<NeighborFamily> {
  if (neighbor.addressFamilies) return new Set(neighbor.addressFamilies.map(({ type }) => type));
  const own: Family = isIPv6(neighbor) ? 6 : 4;
  return new Set([...[own, ...unicast].map((family) => `ipv${family}unicast` as const), ...(evpn ? (["evpn"] as const) : [])]);
}

/** Whether it has an IPv6 address. One without an address uses IPv6 too, where FRR offers IPv4 routes by itself. */
function isIPv6({ address }: NeighborSpec): boolean {
  return address !== undefined && parseAddress(address).family === 6;
}

/** Two switches in different ASes are both used: otherwise FRR compares AS paths, and uses one. Each instance compares its own, also those it imports. */
function ecmp(isMultipath: boolean): ConfigLine[] {
  return isMultipath ? [{ line: "bgp bestpath as-path multipath-relax" }] : [];
}

/** Whether there may be several paths to one destination. */
export function isMultipath({ neighbors = [] }: UnderlaySpec): boolean {
  return neighbors.length > 1;
}

/** FRR does not show its own times. */
function gracefulRestart({ gracefulRestart: settings }: UnderlaySpec): ConfigLine[] {
  if (!settings) return [];
  const { restartTimeSeconds, stalePathTimeSeconds } = settings;
  return [
    ...(stalePathTimeSeconds === 360 ? [] : [{ line: `bgp graceful-restart stalepath-time ${stalePathTimeSeconds}` }]),
    ...(restartTimeSeconds === 120 ? [] : [{ line: `bgp graceful-restart restart-time ${restartTimeSeconds}` }]),
    { line: "bgp graceful-restart" },
    { line: "bgp graceful-restart preserve-fw-state" },
  ];
}

/** The neighbor's name in FRR. */
export function peerName({ address, interface: name }: NeighborSpec): string {
  return name ?? parseAddress(address ?? "").toString();
}

function fabricNeighbor(
  neighbor: NeighborSpec,
  { asn, gracefulRestart }: UnderlaySpec,
  { password, extendedNextHop }: { password: string | undefined; extendedNextHop: boolean | undefined },
): ConfigLine[] {
  const { bfd, holdTime, keepaliveTime, port, ebgpMultiHop, multiHopTtl } = neighbor;
  // A neighbor that restarts gracefully has to be back before its routes are dropped.
  const connectTime = neighbor.connectTime ?? (gracefulRestart ? "5s" : undefined);
  const timers = holdTime !== undefined && keepaliveTime !== undefined;
  return neighborLines({
    peer: neighbor.interface === undefined ? parseAddress(neighbor.address ?? "") : { interface: neighbor.interface },
    asn,
    remoteAs: neighbor.type ?? neighbor.asn ?? 0,
    password,
    port,
    ebgpMultiHop,
    multiHopTtl,
    extendedNextHop,
    ...(timers && { timers: { keepalive: wholeSeconds(keepaliveTime), hold: wholeSeconds(holdTime) } }),
    ...(connectTime !== undefined && { connectTime: wholeSeconds(connectTime) }),
    ...(bfd && { bfd: { profile: hasProfile(neighbor) ? profileName(neighbor) : undefined } }),
  });
}

/**
 * An external neighbor may send back what carries our own AS number; to an internal one we are the way to what the hosts announce. The next hop of an EVPN route is the VTEP
 * that its tunnel ends at, which stays.
 */
function fabricNeighborInFamily(neighbor: NeighborSpec, family: NeighborFamily, ownAsn: number): ConfigLine[] {
  const isInternal = neighbor.type === "internal" || neighbor.asn === ownAsn;
  const internal = family === "evpn" ? [] : ["next-hop-self force"];
  return neighborOptions(peerName(neighbor), ["activate", ...(isInternal ? internal : ["allowas-in"])]);
}

/** The BFD profile of a neighbor that asks for more than plain BFD. */
function bfdProfile(neighbor: NeighborSpec): ConfigLine[] {
  return hasProfile(neighbor) ? [profileLine(profileName(neighbor), neighbor.bfd ?? {})] : [];
}

function hasProfile({ bfd = {} }: NeighborSpec): boolean {
  return Object.values(bfd).some((value) => value !== undefined);
}

function profileName(neighbor: NeighborSpec): string {
  return `neighbor-${peerName(neighbor)}`;
}

function wholeSeconds(duration: string): number {
  return Math.trunc(seconds(duration) ?? 0);
}

/** The ends of a host session by family. */
export type SessionPairs = ReadonlyMap<Family, SessionAddresses>;

export function l3vniFragment(
  owner: string,
  { vrf, vni, hostsession, exportRTs, importRTs }: L3VNISpec,
  { asn, routerId, isMultipath, ends }: { asn: number; routerId: string; isMultipath: boolean; ends: SessionPairs },
): Fragment {
  const hosts = [...ends.values()].map(({ host }) => host.address.toString());
  const inFamily = (family: Family): ConfigLine[] => [
    ...hostRoute(ends.get(family)),
    ...hosts.flatMap((host) => acceptAll(host, hostsession)),
  ];
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
          ...ecmp(isMultipath),
          ...hosts.flatMap((host) => neighborOptions(host, [`remote-as ${hostsession?.hosttype ?? hostsession?.hostasn}`])),
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

export function passthroughFragment(owner: string, { hostsession }: PassthroughSpec, asn: number, ends: SessionPairs): Fragment {
  const inFamily = (family: Family): ConfigLine[] => {
    const host = ends.get(family)?.host.address.toString();
    return host === undefined ? [] : [...hostRoute(ends.get(family)), ...acceptAll(host, hostsession)];
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

/** The session is in the fabric's own instance, whose AS number can differ from the one that the host uses. A host that starts again is not to wait for two minutes. */
function passthroughNeighbor(host: string, session: HostSession, asn: number): ConfigLine[] {
  const localAs = session.asn === asn ? [] : [`local-as ${session.asn} no-prepend replace-as`];
  return neighborOptions(host, [`remote-as ${session.hosttype ?? session.hostasn}`, ...localAs, "timers connect 5"]);
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

/** An internal session does not change next hops by itself, and the host cannot reach those of the fabric. */
function acceptAll(neighbor: string, session: HostSession | undefined): ConfigLine[] {
  const nextHop = session?.hosttype === "internal" ? ["next-hop-self force"] : [];
  return neighborOptions(neighbor, ["activate", ...nextHop, "route-map allowall in", "route-map allowall out"]);
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
