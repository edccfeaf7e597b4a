import { SERVICE_NETWORK } from "../kube/api-server.ts";
import type { StartedMachine } from "../machine/start.ts";
import { hostOf, type Net } from "../net/net.ts";
import { managementHost, type NodeName, numberOf } from "../net/topology.ts";

const BRIDGE = "pods";
/** Of all pods. */
export const POD_NETWORK = "10.244.0.0/16";

/** The address of a node's pod, by a number from 2 to 254. */
export function podAddress(node: NodeName, number: number): string {
  return `10.244.${numberOf(node)}.${number}`;
}

/** A bridge for pods on each node, and the way to the other nodes' pods: what a network plugin does. */
export async function startPodNetwork(net: Net, network: StartedMachine["network"]): Promise<void> {
  for (const node of net.topology.nodes) {
    const host = hostOf(net, node);
    await host.ip([
      `link add ${BRIDGE} up type bridge`,
      `address add ${podAddress(node, 1)}/24 dev ${BRIDGE}`,
      ...podRoutes(node, net.topology.nodes, network),
      // kube-proxy translates what leaves, and without any route nothing does.
      `route add ${SERVICE_NETWORK} dev ${BRIDGE}`,
    ]);
    // A packet to a service address may come in on one link and its answer leave by another.
    await host.do(["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"]);
  }
}

/** Lines of `ip`: a node's way to the pods of the others. */
export function podRoutes(node: NodeName, nodes: readonly NodeName[], network: StartedMachine["network"]): string[] {
  const others = nodes.filter((other) => other !== node);
  return others.map((other) => `route add ${podAddress(other, 0)}/24 via ${network.address(managementHost(other))}`);
}

/** A network namespace with an address on the node's bridge. */
export async function plugIn(net: Net, node: NodeName, namespace: string, number: number): Promise<void> {
  const host = hostOf(net, node);
  await host.ip([`netns add ${namespace}`, `link add pod${number} up master ${BRIDGE} type veth peer name eth0 netns ${namespace}`]);
  const lines = [
    "link set lo up",
    `address add ${podAddress(node, number)}/24 dev eth0`,
    "link set eth0 up",
    `route add default via ${podAddress(node, 1)}`,
  ];
  await host.do(["ip", "-n", namespace, "-batch", "-"], { input: `${lines.join("\n")}\n` });
}
