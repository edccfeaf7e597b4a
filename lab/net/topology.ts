/** The lab's hosts, links and numbers: plain data, computed from what was asked for. */
export interface Topology {
  readonly tors: readonly Tor[];
  readonly nodes: readonly NodeName[];
  readonly links: readonly TopologyLink[];
}

export interface TopologyOptions {
  /** From 1 to MAX_NODES. */
  readonly nodes: number;
  readonly tors: 1 | 2;
}

export type NodeName = `node${number}`;

export interface Tor {
  readonly name: string;
  readonly asn: number;
  /** Of its bridge `leaf`, in the subnet that it shares with the nodes. */
  readonly address: string;
  /** The interface of every node that leads to it. Routers take it over. */
  readonly nic: string;
  /** The client's subnet behind it, and the client's interface there. */
  readonly clientNetwork: string;
  readonly clientGateway: string;
  readonly clientNic: string;
  /** The client's subnet in the tenant blue, and its interface there. */
  readonly tenantGateway: string;
  readonly tenantNic: string;
}

/** A veth pair. The second end is the switch's. */
export interface TopologyLink {
  readonly name: string;
  readonly ends: readonly [LinkEnd, LinkEnd];
}

export interface LinkEnd {
  /** A host of the lab, or MACHINE. */
  readonly host: string;
  readonly device: string;
  /** With its length. Management addresses are chosen when the lab starts. */
  readonly address?: string;
  /** The bridge of the host that the device is a port of. */
  readonly bridge?: string;
  /** The VRF of the host that the device is in. */
  readonly vrf?: string;
}

export const MAX_NODES = 9;

/** What all hosts run in; it has the switch of the management network. */
export const MACHINE = "machine";
const MANAGEMENT_BRIDGE = "mgmt";
export const MANAGEMENT_LINK = "eth0";

export const TOR_ASN = 64512;
/** Of every node's router: the Underlay of the lab's manifests says so too. */
export const ROUTER_ASN = 64514;
/** Of every node's load balancer: the manifests say so too. */
export const SPEAKER_ASN = 64515;

/** Where a node's router is, with the NICs that it took over. */
export const ROUTER_NETNS = "perouter";

/** The bridge in each ToR between its ports towards the nodes. */
export const LEAF_BRIDGE = "leaf";
export const TOR_ADDRESS = "192.168.11.2";
export const UNDERLAY_LENGTH = 24;

const CLIENT_LENGTH = 24;

/** Of the L3VNI blue: each ToR is a VTEP of it, with a port for the client. Where there are no routers there is no such tenant. */
export const TENANT_VRF = "blue";

const FIRST_TOR: Tor = {
  name: "tor",
  asn: TOR_ASN,
  address: TOR_ADDRESS,
  nic: "eth1",
  clientNetwork: "10.20.0.0/24",
  clientGateway: "10.20.0.1",
  clientNic: "eth0",
  tenantGateway: "10.22.0.1",
  tenantNic: "blue0",
};
const SECOND_TOR: Tor = {
  name: "tor2",
  asn: 64513,
  address: "192.168.12.2",
  nic: "eth2",
  clientNetwork: "10.21.0.0/24",
  clientGateway: "10.21.0.1",
  clientNic: "eth1",
  tenantGateway: "10.22.1.1",
  tenantNic: "blue1",
};

/** The segment that both clients share with the nodes, layer 2 only: a bridge in the first ToR, and their links to it. */
export const ACCESS_BRIDGE = "access";
export const ACCESS_LINK = "lan0";
export const ACCESS_LENGTH = 24;
export const ACCESS_NETWORK = "10.30.0.0/24";

/** The second client is on the access segment alone. */
export const CLIENTS = ["client", "client2"] as const;

export function topologyOf({ nodes: count, tors: torCount }: TopologyOptions): Topology {
  const tors = torCount === 2 ? [FIRST_TOR, SECOND_TOR] : [FIRST_TOR];
  const nodes = nodeNames(count);
  const links = [
    ...nodes.flatMap((node) => [managementLink(node), ...tors.map((tor) => uplink(node, tor)), accessLink(node, 10 + numberOf(node))]),
    ...tors.flatMap((tor) => [clientLink(tor), tenantLink(tor)]),
    ...CLIENTS.map((client, nth) => accessLink(client, 2 + nth)),
  ];
  return { tors, nodes, links };
}

export const DEFAULT_TOPOLOGY = topologyOf({ nodes: 3, tors: 1 });

/** For a lab without routers. */
export function withoutTenant(topology: Topology): Topology {
  return { ...topology, links: topology.links.filter(({ ends }) => ends.every(({ vrf }) => vrf === undefined)) };
}

export function nodeNames(count: number): NodeName[] {
  return Array.from({ length: count }, (_, nth): NodeName => `node${nth + 1}`);
}

export function hostNames({ tors, nodes }: Topology): string[] {
  return [...tors.map(({ name }) => name), ...nodes, ...CLIENTS];
}

function managementLink(node: NodeName): TopologyLink {
  const port = { host: MACHINE, device: `mgmt-${node}`, bridge: MANAGEMENT_BRIDGE };
  return { name: `${node}-mgmt`, ends: [{ host: node, device: MANAGEMENT_LINK }, port] };
}

function uplink(node: NodeName, tor: Tor): TopologyLink {
  const end = { host: node, device: tor.nic, address: `${underlayAddress(node, tor)}/${UNDERLAY_LENGTH}` };
  return { name: `${node}-${tor.name}`, ends: [end, { host: tor.name, device: node, bridge: LEAF_BRIDGE }] };
}

function clientLink({ name, clientNic, clientGateway }: Tor): TopologyLink {
  const end = { host: "client", device: clientNic, address: `${inSubnetOf(clientGateway, 2)}/${CLIENT_LENGTH}` };
  return { name: `client-${name}`, ends: [end, { host: name, device: "client", address: `${clientGateway}/${CLIENT_LENGTH}` }] };
}

function tenantLink({ name, tenantNic, tenantGateway }: Tor): TopologyLink {
  const end = { host: "client", device: tenantNic, address: `${inSubnetOf(tenantGateway, 2)}/${CLIENT_LENGTH}` };
  const port = { host: name, device: "client-blue", address: `${tenantGateway}/${CLIENT_LENGTH}`, vrf: TENANT_VRF };
  return { name: `client-${name}-blue`, ends: [end, port] };
}

function accessLink(host: string, number: number): TopologyLink {
  const device = accessPort(host);
  const end = { host, device: ACCESS_LINK, address: `10.30.0.${number}/${ACCESS_LENGTH}` };
  return { name: device, ends: [end, { host: FIRST_TOR.name, device, bridge: ACCESS_BRIDGE }] };
}

export function underlayAddress(node: NodeName, { address } = FIRST_TOR): string {
  return inSubnetOf(address, 10 + numberOf(node));
}

/** The last part of a node's management address. */
export function managementHost(node: NodeName): number {
  return 10 + numberOf(node);
}

/** The ToR's port of the access segment towards a host. */
export function accessPort(host: string): string {
  return `${host}-lan`;
}

export interface Segment {
  /** Also the name of the hosts on it. */
  readonly name: string;
  /** On every node, where the L2VNI of the lab's manifests attaches. */
  readonly bridge: string;
  readonly gateway: string;
  readonly length: number;
}

/** The layer-2 segments that reach over all nodes, each with a host on each node. */
export const SEGMENTS: readonly Segment[] = [
  { name: "shop", bridge: "br-shop", gateway: "10.110.0.1", length: 24 },
  { name: "stock", bridge: "br-stock", gateway: "10.120.0.1", length: 24 },
];

export function hostAddress(segment: Segment, node: NodeName): string {
  return inSubnetOf(segment.gateway, 10 + numberOf(node));
}

export function numberOf(node: NodeName): number {
  return Number(node.slice("node".length));
}

function inSubnetOf(address: string, last: number): string {
  return address.replace(/\d+$/, String(last));
}
