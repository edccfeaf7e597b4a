import { ip } from "./run.ts";
import type { NetnsRole } from "./desired-link.ts";

export interface LinkAddress {
  /** `192.0.2.1/24`. */
  readonly text: string;
  /** The other end of a point-to-point address. */
  readonly peer?: string;
  readonly scope: string;
  /** From DHCP, a router advertisement, or a process that refreshes its lifetime. */
  readonly dynamic: boolean;
  /** In the network of an older IPv4 address, and removed with it. */
  readonly secondary: boolean;
  readonly dadFailed: boolean;
  readonly validSeconds?: number;
  readonly preferredSeconds?: number;
}

/** In the words of `ip link set ... type bridge_slave`. */
export const PORT_FLAGS = [
  "neigh_suppress",
  "learning",
  "flood",
  "mcast_flood",
  "bcast_flood",
  "hairpin",
  "guard",
  "root_block",
  "isolated",
  "locked",
] as const;
export type PortFlag = (typeof PORT_FLAGS)[number];

export interface BridgePort {
  /** `forwarding`, `disabled`...; empty where it is not printed. */
  readonly state: string;
  readonly flags: Readonly<Partial<Record<PortFlag, boolean>>>;
}

export interface Link {
  readonly name: string;
  readonly index: number;
  /** `bridge`, `vxlan`, `veth`...; empty for a physical interface. */
  readonly type: string;
  readonly alias: string;
  readonly group: string;
  readonly master?: string;
  /** The lower device of a VLAN, macvlan or VXLAN, in the same namespace. */
  readonly lower?: string;
  readonly mtu: number;
  readonly mac: string;
  readonly up: boolean;
  /** Up, but the other end is not. */
  readonly noCarrier?: true;
  readonly addresses: readonly LinkAddress[];
  readonly addrGenMode?: string;
  readonly vxlan?: {
    readonly vni: number;
    readonly port: number;
    readonly local?: string;
    readonly device?: string;
    readonly learning: boolean;
  };
  /** Of a VRF. */
  readonly table?: number;
  readonly bridge?: { readonly vlanFiltering: boolean; readonly stp: boolean };
  readonly bridgePort?: BridgePort;
  /** Kept from answering ARP, or from receiving multicast, although links of its type do both. */
  readonly off?: readonly ("arp" | "multicast")[];
  /** Of a veth: by name in the same namespace, by index in another. */
  readonly peer?: { readonly name: string } | { readonly index: number };
}

export interface OvsBridge {
  readonly name: string;
  /** Of a bridge that we created. */
  readonly owner: string | undefined;
  readonly ports: readonly string[];
}

/** In the terms of `ip route`. */
export interface Route {
  readonly family: 4 | 6;
  readonly args: readonly string[];
}

export type Links = ReadonlyMap<string, Link>;

export interface Snapshot {
  readonly host: Links;
  readonly router: Links;
  /** The argument of `ip link set ... netns`: a name or a process id. */
  readonly namespaces: Readonly<Record<NetnsRole, string>>;
  /** Undefined until a resource needs Open vSwitch. */
  readonly ovs?: readonly OvsBridge[];
  /** Of interfaces that are about to move, by name. */
  readonly routes: ReadonlyMap<string, readonly Route[]>;
}

/** The used fields of `ip -d -j`. */
interface PrintedLink {
  readonly ifindex: number;
  readonly ifname: string;
  readonly flags: readonly string[];
  readonly mtu: number;
  readonly address?: string;
  readonly ifalias?: string;
  readonly group?: string;
  readonly master?: string;
  /** The peer of a veth, or the lower device of a VXLAN, in the same namespace. */
  readonly link?: string;
  readonly link_index?: number;
  readonly inet6_addr_gen_mode?: string;
  readonly linkinfo?: {
    readonly info_kind?: string;
    readonly info_data?: Readonly<Record<string, unknown>>;
    readonly info_slave_kind?: string;
    readonly info_slave_data?: Readonly<Record<string, unknown>>;
  };
  readonly addr_info?: readonly Partial<PrintedAddress>[];
}

interface PrintedAddress {
  readonly family: string;
  readonly local: string;
  /** The other end of a point-to-point address. */
  readonly address: string;
  readonly prefixlen: number;
  readonly scope: string;
  readonly dynamic: boolean;
  readonly secondary: boolean;
  readonly dadfailed: boolean;
  readonly valid_life_time: number;
  readonly preferred_life_time: number;
}

const FOREVER = 4294967295;

/** Without addresses. */
export async function readLinks(namespace: string, signal: AbortSignal): Promise<Links> {
  return parseLinks(JSON.parse(await ip(namespace, ["-d", "-j", "link"], { signal })));
}

/** From `ip -d -j addr`; only `ip -d -j link` has the mode of IPv6 address generation. */
export function parseLinks(addresses: unknown, details: unknown = []): Map<string, Link> {
  const modes = new Map((details as readonly PrintedLink[]).map((link) => [link.ifindex, link.inet6_addr_gen_mode]));
  const links = new Map<string, Link>();
  for (const printed of addresses as readonly Partial<PrintedLink>[]) {
    // Filtered links are printed as empty objects.
    if (printed.ifname !== undefined) links.set(printed.ifname, parseLink(printed as PrintedLink, modes.get(printed.ifindex ?? 0)));
  }
  return links;
}

function parseLink(printed: PrintedLink, addrGenMode = printed.inet6_addr_gen_mode): Link {
  const { info_kind: type = "", info_data: own = {}, info_slave_kind, info_slave_data: port = {} } = printed.linkinfo ?? {};
  return {
    name: printed.ifname,
    index: printed.ifindex,
    type,
    alias: printed.ifalias ?? "",
    group: printed.group ?? "",
    ...(printed.master !== undefined && { master: printed.master }),
    ...(printed.link !== undefined && type !== "veth" && { lower: printed.link }),
    mtu: printed.mtu,
    mac: printed.address ?? "",
    up: printed.flags.includes("UP"),
    ...(printed.flags.includes("NO-CARRIER") && { noCarrier: true }),
    addresses: (printed.addr_info ?? []).flatMap(parseAddress),
    ...(addrGenMode !== undefined && { addrGenMode }),
    ...(type === "vxlan" && { vxlan: parseVxlan(own) }),
    ...(type === "vrf" && { table: Number(own["table"]) }),
    ...(type === "bridge" && { bridge: { vlanFiltering: Number(own["vlan_filtering"]) === 1, stp: Number(own["stp_state"]) === 1 } }),
    ...(info_slave_kind === "bridge" && { bridgePort: parsePort(port) }),
    ...switchedOff(type, printed.flags),
    ...(type === "veth" && parsePeer(printed)),
  };
}

function parsePort(port: Readonly<Record<string, unknown>>): BridgePort {
  const flags = PORT_FLAGS.flatMap((flag) => (typeof port[flag] === "boolean" ? [[flag, port[flag]]] : []));
  return { state: typeof port["state"] === "string" ? port["state"] : "", flags: Object.fromEntries(flags) as BridgePort["flags"] };
}

/** A VRF and a dummy answer no ARP of their own. */
function switchedOff(type: string, flags: readonly string[]): Pick<Link, "off"> {
  if (type !== "bridge" && type !== "veth" && type !== "vxlan") return {};
  const off = [...(flags.includes("NOARP") ? ["arp" as const] : []), ...(flags.includes("MULTICAST") ? [] : ["multicast" as const])];
  return off.length === 0 ? {} : { off };
}

function parseVxlan(own: Readonly<Record<string, unknown>>): NonNullable<Link["vxlan"]> {
  const local = own["local"] ?? own["local6"];
  return {
    vni: Number(own["id"]),
    port: Number(own["port"]),
    learning: own["learning"] === true,
    ...(typeof local === "string" && { local }),
    ...(typeof own["link"] === "string" && { device: own["link"] }),
  };
}

function parsePeer({ link, link_index }: PrintedLink): Pick<Link, "peer"> {
  if (link !== undefined) return { peer: { name: link } };
  return link_index === undefined ? {} : { peer: { index: link_index } };
}

function parseAddress(printed: Partial<PrintedAddress>): LinkAddress[] {
  const { local, address, prefixlen, valid_life_time: valid = FOREVER, preferred_life_time: preferred = FOREVER } = printed;
  if (local === undefined || prefixlen === undefined) return [];
  return [
    {
      text: `${local}/${address === undefined ? prefixlen : local.includes(":") ? 128 : 32}`,
      ...(address !== undefined && { peer: `${address}/${prefixlen}` }),
      scope: printed.scope ?? "global",
      dynamic: printed.dynamic === true || valid !== FOREVER,
      secondary: printed.secondary === true,
      dadFailed: printed.dadfailed === true,
      ...(valid !== FOREVER && { validSeconds: valid }),
      ...(preferred !== FOREVER && { preferredSeconds: preferred }),
    },
  ];
}
