import { type NodeName, ROUTER_NETNS, TOR_ASN, underlayAddress } from "../net/topology.ts";
import { type Expectation, type Fault, type FaultContext, DETECTION_LIMIT_MS, trafficThrough } from "./fault.ts";

const RULE = 5;
const DENY_ALL = "lab-deny";
/** What VXLAN needs around a frame of 1450 bytes is more than that. */
const SMALL_MTU = 1280;
const PLAIN_MTU = 1500;

/** Ways that packets no longer take, although everything is configured as it was: nothing but traffic shows them. */
export const PATH_FAULTS: Readonly<Record<string, Fault>> = {
  "vxlan-dropped": {
    about: "a rule on the node drops the packets of VXLAN",
    domain: "router",
    deadPath: true,
    break: (context) => inRouter(context, `ip rule add pref ${RULE} ipproto udp dport 4789 blackhole`),
    fix: (context) => inRouter(context, `ip rule del pref ${RULE}`),
    expect: pathDead,
  },
  "evpn-filtered-in": {
    about: "the tor filters the EVPN routes that the node sends",
    domain: "router",
    deadPath: true,
    break: (context) => torPolicy(context, "in"),
    fix: (context) => noTorPolicy(context, "in"),
    expect: pathDead,
  },
  "evpn-filtered-out": {
    about: "the tor filters the EVPN routes that it sends to the node",
    domain: "router",
    deadPath: true,
    break: (context) => torPolicy(context, "out"),
    fix: (context) => noTorPolicy(context, "out"),
    expect: pathDead,
  },
  "vtep-blackhole": {
    about: "a route on the node leads the packets to all other VTEPs nowhere",
    domain: "router",
    deadPath: true,
    break: (context) => inRouter(context, HIDE_VTEPS),
    fix: (context) => inRouter(context, SHOW_VTEPS),
    expect: pathDead,
  },
  "mtu-small": {
    about: `the MTU of the node's underlay NIC is ${SMALL_MTU}`,
    domain: "router",
    deadPath: true,
    break: (context) => inRouter(context, `ip link set eth1 mtu ${SMALL_MTU}`),
    fix: (context) => inRouter(context, `ip link set eth1 mtu ${PLAIN_MTU}`),
    expect: pathDead,
  },
  "packets-lost": {
    about: "the tor's port towards the node loses 30 % of the packets",
    domain: "router",
    deadPath: true,
    break: async ({ node, host }) => void (await host("tor").do(["tc", "qdisc", "add", "dev", node, "root", "netem", "loss", "30%"])),
    fix: async ({ node, host }) => void (await host("tor").do(["tc", "qdisc", "del", "dev", node, "root"])),
    expect: (node) => ({
      ...pathDead(node),
      says: new RegExp(`^${statusOf("[^ ]+")}: (OverlayReachable=False|session default/[^ ]+ (?!Established))`),
    }),
  },
  "forwarding-off": {
    about: "someone sets net.ipv4.ip_forward=0 in the namespace of the node's router",
    domain: "router",
    break: (context) => sysctl(context, "net.ipv4.ip_forward=0"),
    expect: settingRepaired,
  },
  "forwarding-all-off": {
    about: "someone sets net.ipv4.conf.all.forwarding=0 in the namespace of the node's router",
    domain: "router",
    break: (context) => sysctl(context, "net.ipv4.conf.all.forwarding=0"),
    expect: settingRepaired,
  },
  "rp-filter-strict": {
    about: "someone sets net.ipv4.conf.all.rp_filter=1 in the namespace of the node's router",
    domain: "router",
    break: (context) => sysctl(context, "net.ipv4.conf.all.rp_filter=1"),
    expect: settingRepaired,
  },
  "flood-entries-gone": {
    about: "someone removes the flood entries of a VXLAN device of the node's router",
    domain: "router",
    break: (context) => inRouter(context, FLOOD_ENTRIES_GONE),
    expect: (node) => ({
      says: new RegExp(`^Event DriftRepaired of RouterNodeConfigurationStatus ${node}$`),
      withinMs: DETECTION_LIMIT_MS.session,
      interrupts: trafficThrough(node),
    }),
  },
};

const FLOOD_ENTRIES_GONE = `
bridge fdb show dev vni110 | awk '$1 == "00:00:00:00:00:00" { for (i = 2; i < NF; i++) if ($i == "dst") print $(i + 1) }' |
  while read -r vtep; do bridge fdb del 00:00:00:00:00:00 dev vni110 dst "$vtep" self; done`;

/** FRR's routes have a metric, so that a route without one comes first. FRR then takes its own away. */
const HIDE_VTEPS = `ip -4 route show proto bgp | awk '$1 ~ /^100[.]65[.]0[.][0-9]+$/ { print $1 }' |
  while read -r vtep; do ip route add blackhole "$vtep"; done`;
const SHOW_VTEPS = `ip -4 route show type blackhole | awk '$2 ~ /^100[.]65[.]0[.]/ { print $2 }' |
  while read -r vtep; do ip route del blackhole "$vtep"; done`;

function statusOf(node: string): string {
  return `RouterNodeConfigurationStatus [^ ]+/${node}`;
}

/** Any node may see it first; the cause is what is at the node, and neither its FRR, its session nor its agent. */
function pathDead(node: NodeName): Expectation {
  return {
    says: new RegExp(`^${statusOf("[^ ]+")}: OverlayReachable=False`),
    untrue: new RegExp(`^${statusOf(node)}: OverlayReachable=True`),
    cause: new RegExp(`^(?!FRR|Session|Agent)[A-Za-z]+/[^ ]*@${node} `),
    withinMs: DETECTION_LIMIT_MS.session,
    interrupts: trafficThrough(node),
  };
}

function settingRepaired(node: NodeName): Expectation {
  return {
    says: new RegExp(`^Event DriftRepaired of (Underlay underlay|RouterNodeConfigurationStatus ${node})$`),
    withinMs: DETECTION_LIMIT_MS.session,
    interrupts: trafficThrough(node),
  };
}

async function inRouter({ node, host }: FaultContext, script: string): Promise<void> {
  await host(node).do(["ip", "netns", "exec", ROUTER_NETNS, "sh", "-ec", script]);
}

function sysctl(context: FaultContext, setting: string): Promise<void> {
  return inRouter(context, `sysctl -qw ${setting}`);
}

async function torPolicy(context: FaultContext, direction: "in" | "out"): Promise<void> {
  const neighbor = underlayAddress(context.node);
  await onTor(context, [
    `route-map ${DENY_ALL} deny 10`,
    "exit",
    `router bgp ${TOR_ASN}`,
    "address-family l2vpn evpn",
    `neighbor ${neighbor} route-map ${DENY_ALL} ${direction}`,
  ]);
}

async function noTorPolicy(context: FaultContext, direction: "in" | "out"): Promise<void> {
  const neighbor = underlayAddress(context.node);
  await onTor(context, [
    `router bgp ${TOR_ASN}`,
    "address-family l2vpn evpn",
    `no neighbor ${neighbor} route-map ${DENY_ALL} ${direction}`,
    "exit",
    "exit",
    `no route-map ${DENY_ALL}`,
  ]);
}

async function onTor({ host }: FaultContext, lines: readonly string[]): Promise<void> {
  await host("tor").do(["vtysh", ...["configure terminal", ...lines].flatMap((line) => ["-c", line])]);
}
