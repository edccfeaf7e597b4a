import type { Progress } from "../progress.ts";
import type { StartedMachine } from "../machine/start.ts";
import { startPlainFrr } from "./frr.ts";
import { LabHost } from "./lab-host.ts";
import {
  ACCESS_BRIDGE,
  ACCESS_CLIENT,
  ACCESS_LENGTH,
  ACCESS_LINK,
  accessAddress,
  accessPort,
  CLIENT_ADDRESS,
  CLIENT_GATEWAY,
  CLIENT_LENGTH,
  CLIENT_NETWORK,
  hostAddress,
  managementHost,
  NODES,
  SEGMENTS,
  TOR_ADDRESS,
  underlayAddress,
  UNDERLAY_LENGTH,
} from "./topology.ts";
import { SPEAKER_WATCH, speakerAddress, speakerConfig } from "./speaker.ts";
import { TENANT_VNI, tenantLinks, tenantOnClient, tenantOnTor } from "./tenant.ts";
import { torConfig } from "./tor.ts";

/** The hosts of the lab, by name: tor, the nodes, client. */
export type Net = ReadonlyMap<string, LabHost>;

export interface NetOptions {
  readonly started: StartedMachine;
  /** Directories that every host sees as they are outside. */
  readonly keep: readonly string[];
  /** Whether the nodes get routers, which take over eth1; otherwise the nodes themselves stand in the fabric. */
  readonly routers: boolean;
  /** Whether each node gets a BGP speaker that is not ours, at the other end of a HostSession. */
  readonly speakers: boolean;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Hosts, links and addresses, and the tor's FRR. Nodes have no router yet: that is their agents' work. */
export async function startNet({ started, keep, routers, speakers, progress, signal }: NetOptions): Promise<Net> {
  const { machine, network } = started;
  const net = new Map<string, LabHost>();
  for (const name of ["tor", ...NODES, "client"]) {
    progress.step(`Making ${name}`);
    net.set(name, await LabHost.start(machine, name, keep, signal));
  }
  const at = (name: string) => hostOf(net, name);

  progress.step("Linking them");
  const tor = at("tor").access.pid;
  const links = NODES.flatMap((node) => [
    `link add mgmt-${node} up type veth peer name eth0 netns ${at(node).access.pid}`,
    `link set mgmt-${node} master mgmt`,
    // The machine is at neither end, so the pair passes through it and on to the tor.
    `link add ${node} type veth peer name eth1 netns ${at(node).access.pid}`,
    `link set ${node} netns ${tor}`,
    `link add ${accessPort(node)} type veth peer name ${ACCESS_LINK} netns ${at(node).access.pid}`,
    `link set ${accessPort(node)} netns ${tor}`,
  ]);
  const client = at("client").access.pid;
  const toClient = [
    `link add client type veth peer name eth0 netns ${client}`,
    `link set client netns ${tor}`,
    `link add client-lan type veth peer name ${ACCESS_LINK} netns ${client}`,
    `link set client-lan netns ${tor}`,
  ];
  const inTenant = routers ? tenantLinks({ tor, client }) : [];
  await machine.do(["ip", "-batch", "-"], { input: [...links, ...toClient, ...inTenant, ""].join("\n") });

  await at("tor").ip([
    "link add leaf up type bridge",
    ...NODES.map((node) => `link set ${node} master leaf up`),
    `address add ${TOR_ADDRESS}/${UNDERLAY_LENGTH} dev leaf`,
    "link set client up",
    `address add ${CLIENT_GATEWAY}/${CLIENT_LENGTH} dev client`,
    `link add ${ACCESS_BRIDGE} up type bridge`,
    ...NODES.map((node) => `link set ${accessPort(node)} master ${ACCESS_BRIDGE} up`),
    `link set client-lan master ${ACCESS_BRIDGE} up`,
    ...(routers ? tenantOnTor() : []),
  ]);
  // By ports too, so that one client's connections spread over the nodes.
  await at("tor").do(["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.fib_multipath_hash_policy=1"]);
  await at("client").ip([
    `address add ${CLIENT_ADDRESS}/${CLIENT_LENGTH} dev eth0`,
    "link set eth0 up",
    `route add default via ${CLIENT_GATEWAY}`,
    `address add ${ACCESS_CLIENT}/${ACCESS_LENGTH} dev ${ACCESS_LINK}`,
    `link set ${ACCESS_LINK} up`,
    ...(routers ? tenantOnClient() : []),
  ]);
  for (const node of NODES) {
    await at(node).ip([
      `address add ${network.address(managementHost(node))}/24 dev eth0`,
      "link set eth0 up",
      `address add ${underlayAddress(node)}/${UNDERLAY_LENGTH} dev eth1`,
      "link set eth1 up",
      `address add ${accessAddress(node)}/${ACCESS_LENGTH} dev ${ACCESS_LINK}`,
      `link set ${ACCESS_LINK} up`,
      ...(routers ? [] : [`route add ${CLIENT_NETWORK} via ${TOR_ADDRESS}`]),
      ...SEGMENTS.flatMap(({ name, bridge }) => [
        `netns add ${name}`,
        `link add ${bridge} up type bridge`,
        `link add to-${name} up master ${bridge} type veth peer name eth0 netns ${name}`,
      ]),
    ]);
    for (const segment of SEGMENTS) {
      const lines = [
        `address add ${hostAddress(segment, node)}/${segment.length} dev eth0`,
        "link set lo up",
        "link set eth0 up",
        `route add default via ${segment.gateway}`,
      ];
      await at(node).do(["ip", "-n", segment.name, "-batch", "-"], { input: `${lines.join("\n")}\n` });
    }
  }

  progress.step("Starting the tor's FRR");
  await startPlainFrr(at("tor"), { config: torConfig({ routers }), bfd: !routers });
  if (routers) await at("tor").do(TENANT_VNI);
  if (speakers) await startSpeakers(net, progress);
  return net;
}

async function startSpeakers(net: Net, progress: Progress): Promise<void> {
  const at = (name: string) => hostOf(net, name);
  progress.step("Starting the nodes' BGP speakers");
  for (const node of NODES) {
    await at(node).ip([`address add ${speakerAddress(node)}/32 dev lo`]);
    await startPlainFrr(at(node), { name: "speaker", config: speakerConfig(node) });
    at(node).start(["sh", "-c", SPEAKER_WATCH]);
  }
}

export function hostOf(net: Net, name: string): LabHost {
  const host = net.get(name);
  if (!host) throw new TypeError(`the lab has no ${name}`);
  return host;
}
