import { isForNode } from "../announcement/selection.ts";
import type { Config } from "../config/config.ts";
import type { DeliveryEvidence } from "./session-evidence.ts";
import type { NodeView } from "../services/service-view.ts";

/** Nodes between which no decision makes a difference, the place of endpoints aside. */
export type NodeGroup = readonly [NodeView, ...NodeView[]];

/** Groups nodes that are alike, so that thousands of Services on hundreds of nodes are decided once per group. */
export function groupNodes(
  nodes: Iterable<NodeView>,
  { bgpAds, l2Ads, peers }: Config,
  isAlive: (node: string) => boolean,
  evidence: DeliveryEvidence,
): NodeGroup[] {
  const selecting = [...bgpAds.values(), ...l2Ads.values(), ...peers.values()].filter(({ nodeSelectors }) => nodeSelectors.length > 0);
  const groups = new Map<string, [NodeView, ...NodeView[]]>();
  for (const node of nodes) {
    const selected = selecting.map((one) => Number(isForNode(one, node))).join("");
    const likeness = `${selected} ${node.networkUnavailable} ${node.excluded} ${isAlive(node.name)} ${evidence.get(node.name)?.signature ?? ""}`;
    const group = groups.get(likeness);
    if (group) group.push(node);
    else groups.set(likeness, [node]);
  }
  return [...groups.values()];
}
