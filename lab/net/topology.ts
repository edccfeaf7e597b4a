/** Who is in the lab, and how they are numbered. */
export const NODES = ["node1", "node2", "node3"] as const;
export type NodeName = (typeof NODES)[number];

export const TOR_ASN = 64512;
/** Of every node's router: the Underlay of the lab's manifests says so too. */
export const ROUTER_ASN = 64514;

/** Of every node's load balancer: the manifests say so too. */
export const SPEAKER_ASN = 64515;

/** The segment between the tor and the nodes' eth1, which their routers take over. */
export const TOR_ADDRESS = "192.168.11.2";
export const UNDERLAY_LENGTH = 24;

export function underlayAddress(node: NodeName): string {
  return `192.168.11.${10 + numberOf(node)}`;
}

/** The last part of a node's management address. */
export function managementHost(node: NodeName): number {
  return 10 + numberOf(node);
}

/** The client's segment behind the tor. */
export const CLIENT_GATEWAY = "10.20.0.1";
export const CLIENT_ADDRESS = "10.20.0.2";
export const CLIENT_LENGTH = 24;
export const CLIENT_NETWORK = "10.20.0.0/24";

/** The segment that the client shares with the nodes, layer 2 only: a bridge in the tor, and their links to it. */
export const ACCESS_BRIDGE = "access";
export const ACCESS_LINK = "lan0";
export const ACCESS_CLIENT = "10.30.0.2";
export const ACCESS_LENGTH = 24;
export const ACCESS_NETWORK = "10.30.0.0/24";

export function accessAddress(node: NodeName): string {
  return `10.30.0.${10 + numberOf(node)}`;
}

/** The tor's port of that segment towards a node. */
export function accessPort(node: NodeName): string {
  return `${node}-lan`;
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

/** Of the host on a segment on a node. */
export function hostAddress(segment: Segment, node: NodeName): string {
  return segment.gateway.replace(/\d+$/, String(10 + numberOf(node)));
}

export function numberOf(node: NodeName): number {
  return NODES.indexOf(node) + 1;
}
