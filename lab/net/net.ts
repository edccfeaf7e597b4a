import type { Progress } from "../progress.ts";
import type { StartedMachine } from "../machine/start.ts";
import { startPlainFrr } from "./frr.ts";
import { LabHost } from "./lab-host.ts";
import {
  CLIENT_ADDRESS,
  CLIENT_GATEWAY,
  CLIENT_LENGTH,
  hostAddress,
  managementHost,
  NODES,
  SEGMENTS,
  TOR_ADDRESS,
  underlayAddress,
  UNDERLAY_LENGTH,
} from "./topology.ts";
import { SPEAKER_WATCH, speakerAddress, speakerConfig } from "./speaker.ts";
import { torConfig } from "./tor.ts";

/** The hosts of the lab, by name: tor, the nodes, client. */
export type Net = ReadonlyMap<string, LabHost>;

export interface NetOptions {
  readonly started: StartedMachine;
  /** Directories that every host sees as they are outside. */
  readonly keep: readonly string[];
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Hosts, links and addresses, the tor's FRR and the nodes' speakers. Nodes have no router yet: that is their agents' work. */
export async function startNet({ started, keep, progress, signal }: NetOptions): Promise<Net> {
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
  ]);
  const toClient = ["link add client type veth peer name eth0 netns " + at("client").access.pid, `link set client netns ${tor}`];
  await machine.do(["ip", "-batch", "-"], { input: [...links, ...toClient, ""].join("\n") });

  await at("tor").ip([
    "link add leaf up type bridge",
    ...NODES.map((node) => `link set ${node} master leaf up`),
    `address add ${TOR_ADDRESS}/${UNDERLAY_LENGTH} dev leaf`,
    "link set client up",
    `address add ${CLIENT_GATEWAY}/${CLIENT_LENGTH} dev client`,
  ]);
  await at("tor").do(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
  await at("client").ip([
    `address add ${CLIENT_ADDRESS}/${CLIENT_LENGTH} dev eth0`,
    "link set eth0 up",
    `route add default via ${CLIENT_GATEWAY}`,
  ]);
  for (const node of NODES) {
    await at(node).ip([
      `address add ${network.address(managementHost(node))}/24 dev eth0`,
      "link set eth0 up",
      `address add ${underlayAddress(node)}/${UNDERLAY_LENGTH} dev eth1`,
      "link set eth1 up",
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
  await startPlainFrr(at("tor"), { config: torConfig() });
  progress.step("Starting the nodes' BGP speakers");
  for (const node of NODES) {
    await at(node).ip([`address add ${speakerAddress(node)}/32 dev lo`]);
    await startPlainFrr(at(node), { name: "speaker", config: speakerConfig(node) });
    at(node).start(["sh", "-c", SPEAKER_WATCH]);
  }
  return net;
}

export function hostOf(net: Net, name: string): LabHost {
  const host = net.get(name);
  if (!host) throw new TypeError(`the lab has no ${name}`);
  return host;
}
