import type { Progress } from "../progress.ts";
import type { StartedMachine } from "../machine/start.ts";
import { startPlainFrr } from "./frr.ts";
import { LabHost } from "./lab-host.ts";
import {
  CLIENTS,
  hostAddress,
  hostNames,
  LEAF_BRIDGE,
  type TopologyLink,
  MACHINE,
  managementHost,
  MANAGEMENT_LINK,
  type NodeName,
  SEGMENTS,
  type Topology,
  type Tor,
  UNDERLAY_LENGTH,
  withoutTenant,
} from "./topology.ts";
import { SPEAKER_WATCH, speakerAddress, speakerConfig } from "./speaker.ts";
import { TENANT_VNI, tenantOnClient, tenantOnTor } from "./tenant.ts";
import { torConfig } from "./tor.ts";

/** The lab's hosts, by name, and how they are connected. */
export interface Net {
  readonly topology: Topology;
  readonly hosts: ReadonlyMap<string, LabHost>;
}

export interface NetOptions {
  readonly topology: Topology;
  readonly started: StartedMachine;
  /** Directories that every host sees as they are outside. */
  readonly keep: readonly string[];
  /** Whether the nodes get routers, which take over the NICs towards the ToRs; otherwise the nodes themselves stand in the fabric. */
  readonly routers: boolean;
  /** Whether each node gets a BGP speaker that is not ours, at the other end of a HostSession. */
  readonly speakers: boolean;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Hosts, links and addresses, and the ToRs' FRR. Nodes have no router yet: that is their agents' work. */
export async function startNet({ topology: wanted, started, keep, routers, speakers, progress, signal }: NetOptions): Promise<Net> {
  const { machine, network } = started;
  const topology = routers ? wanted : withoutTenant(wanted);
  const hosts = new Map<string, LabHost>();
  for (const name of hostNames(topology)) {
    progress.step(`Making ${name}`);
    hosts.set(name, await LabHost.start(machine, name, keep, signal));
  }
  const net = { topology, hosts };
  const at = (name: string) => hostOf(net, name);

  progress.step("Linking them");
  const pairs = topology.links.flatMap((link) => pairLines(link, (host) => at(host).access.pid));
  await machine.do(["ip", "-batch", "-"], { input: `${pairs.join("\n")}\n` });
  for (const tor of topology.tors) await setUpTor(at(tor.name), tor, topology, routers ? tenantOnTor(tor) : []);
  for (const client of CLIENTS) await setUpClient(at(client), topology);
  if (routers) await at("client").ip(tenantOnClient(topology));
  for (const node of topology.nodes) {
    await at(node).ip([
      `address add ${network.address(managementHost(node))}/24 dev ${MANAGEMENT_LINK}`,
      ...endLines(node, topology),
      ...(routers ? [] : topology.tors.map(({ clientNetwork, address }) => `route add ${clientNetwork} via ${address}`)),
    ]);
    await addSegments(at(node), node);
  }

  progress.step("Starting the ToRs' FRR");
  for (const tor of topology.tors) {
    await startPlainFrr(at(tor.name), { config: torConfig(tor, topology, { routers }), bfd: !routers });
    if (routers) await at(tor.name).do(TENANT_VNI);
  }
  if (speakers) await startSpeakers(net, progress);
  return net;
}

/** Lines of `ip` in the machine. It is at neither end of most pairs, so that they pass through it. */
function pairLines({ ends: [end, port] }: TopologyLink, pidOf: (host: string) => number): string[] {
  const rest = port.host === MACHINE ? `master ${port.bridge} up` : `netns ${pidOf(port.host)}`;
  return [`link add ${port.device} type veth peer name ${end.device} netns ${pidOf(end.host)}`, `link set ${port.device} ${rest}`];
}

/** Lines of `ip` on a host: its end of every link. */
function endLines(host: string, { links }: Topology): string[] {
  const ends = links.flatMap(({ ends }) => ends).filter((end) => end.host === host);
  return ends.flatMap(({ device, address, bridge, vrf }) => {
    const master = bridge ?? vrf;
    const up = `link set ${device} ${master === undefined ? "" : `master ${master} `}up`;
    return address === undefined ? [up] : [up, `address add ${address} dev ${device}`];
  });
}

async function setUpTor(host: LabHost, { name, address }: Tor, topology: Topology, tenant: readonly string[]): Promise<void> {
  const bridges = new Set(topology.links.flatMap(({ ends }) => ends.flatMap((end) => (end.host === name ? (end.bridge ?? []) : []))));
  await host.ip([
    ...[...bridges].map((bridge) => `link add ${bridge} up type bridge`),
    `address add ${address}/${UNDERLAY_LENGTH} dev ${LEAF_BRIDGE}`,
    ...tenant,
    ...endLines(name, topology),
  ]);
  // By ports too, so that one client's connections spread over the nodes.
  await host.do(["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.fib_multipath_hash_policy=1"]);
}

async function setUpClient(host: LabHost, topology: Topology): Promise<void> {
  const gateways = topology.tors.map(({ clientGateway }) => `nexthop via ${clientGateway}`);
  // A ToR whose port is down gets no more packets.
  await host.do(["sysctl", "-qw", "net.ipv4.conf.all.ignore_routes_with_linkdown=1", "net.ipv4.fib_multipath_hash_policy=1"]);
  await host.ip([...endLines(host.name, topology), ...(host.name === "client" ? [`route add default ${gateways.join(" ")}`] : [])]);
}

async function addSegments(host: LabHost, node: NodeName): Promise<void> {
  await host.ip(
    SEGMENTS.flatMap(({ name, bridge }) => [
      `netns add ${name}`,
      `link add ${bridge} up type bridge`,
      `link add to-${name} up master ${bridge} type veth peer name eth0 netns ${name}`,
    ]),
  );
  for (const segment of SEGMENTS) {
    const lines = [
      `address add ${hostAddress(segment, node)}/${segment.length} dev eth0`,
      "link set lo up",
      "link set eth0 up",
      `route add default via ${segment.gateway}`,
    ];
    await host.do(["ip", "-n", segment.name, "-batch", "-"], { input: `${lines.join("\n")}\n` });
  }
}

async function startSpeakers(net: Net, progress: Progress): Promise<void> {
  const at = (name: string) => hostOf(net, name);
  progress.step("Starting the nodes' BGP speakers");
  for (const node of net.topology.nodes) {
    await at(node).ip([`address add ${speakerAddress(node)}/32 dev lo`]);
    await startPlainFrr(at(node), { name: "speaker", config: speakerConfig(node) });
    at(node).start(["sh", "-c", SPEAKER_WATCH]);
  }
}

export function hostOf(net: Net, name: string): LabHost {
  const host = net.hosts.get(name);
  if (!host) throw new TypeError(`the lab has no ${name}`);
  return host;
}
