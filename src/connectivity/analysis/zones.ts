import type { Node } from "../../api/core/node.ts";
import type { Zones } from "./check-result.ts";

const ZONE = "topology.kubernetes.io/zone";

/** Where things are, by what is known of the nodes alone. */
export function zonesOf(nodes: readonly Node[]): Zones {
  const zones = new Map(nodes.map(({ metadata: { name, labels } }) => [name, labels?.[ZONE]]));
  const addresses = new Map(
    nodes.flatMap(({ metadata: { name }, status }) => (status?.addresses ?? []).map(({ address }) => [address, name] as const)),
  );
  return { zoneOf: (node) => zones.get(node), nodeAt: (address) => addresses.get(address), nodeOfPod: () => undefined };
}
