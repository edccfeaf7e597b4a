import type { ConfigMap } from "../api/core/config-map.ts";
import { Node } from "../api/core/node.ts";
import type { Cache } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/error.ts";
import { controller, type Runnable } from "../kube/controller/controller.ts";
import { changesOf } from "../kube/controller/source.ts";
import type { Log } from "../kube/log.ts";
import { membersName, parseMembers } from "../kube/members/members.ts";

const INDEX_ANNOTATION = "openpe.io/nodeindex";

export interface NodeIndexOptions {
  client: KubeClient;
  namespace: string;
  nodes: Pick<Cache<Node>, "get" | "list" | "subscribe" | "waitForSync">;
  /** The ConfigMap with the index of each node. */
  members: Pick<Cache<ConfigMap>, "get" | "list" | "subscribe" | "waitForSync">;
  log: Log;
}

/** Undefined if the annotation is missing or invalid. */
export function nodeIndexOf({ metadata }: Node): number | undefined {
  const text = metadata.annotations?.[INDEX_ANNOTATION] ?? "";
  return /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : undefined;
}

/** Writes each node's index onto its Node, and corrects foreign values. */
export function nodeIndexWriter({ client, namespace, nodes, members, log }: NodeIndexOptions): Runnable {
  return controller("node-index", {
    watches: [changesOf(nodes), changesOf(members, () => nodes.list().map(({ metadata }) => metadata.name))],
    log,
    async reconcile(name, { signal, log }) {
      const node = nodes.get(name);
      const published = members.get(`${namespace}/${membersName}`);
      const index = published && parseMembers(published).indexes[name]?.index;
      if (!node || index === undefined || nodeIndexOf(node) === index) return;

      const { resourceVersion, annotations } = node.metadata;
      const patch = { metadata: { annotations: { [INDEX_ANNOTATION]: String(index) } } };
      try {
        await client.resource(Node).patch({ name }, patch, { ...(resourceVersion === undefined ? {} : { resourceVersion }), signal });
        log.info({ node: name, index, before: annotations?.[INDEX_ANNOTATION] }, "node index written");
      } catch (error) {
        // The Node has changed, and the cache will show it.
        if (!isKubeError(error, "Conflict", "NotFound")) throw error;
      }
    },
  });
}

/**
 * The index for this node's addresses. A running one is kept; a new one is used only if no other Node has it, since two routers with one
 * address are worse than one without.
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
