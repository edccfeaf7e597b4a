import { Node } from "../api/core/node.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { nodeIndexOf } from "./node-index.ts";

/**
 * The index that this node may make its addresses from. One that it runs with already it keeps; a new one only if no other Node carries it, since
 * two routers with one address are worse than one without.
 */
export async function ownIndex(
  node: Node,
  running: number | undefined,
  client: Pick<KubeClient, "resource">,
  signal: AbortSignal,
): Promise<number | undefined> {
  const given = nodeIndexOf(node);
  if (given === undefined || given === running) return running;
  const { items } = await client.resource(Node).list({ signal });
  const others = items.filter(({ metadata }) => metadata.name !== node.metadata.name);
  return others.some((other) => nodeIndexOf(other) === given) ? running : given;
}
