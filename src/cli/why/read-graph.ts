import { Lease } from "../../api/core/lease.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { CauseGraph } from "../../explain/graph.ts";
import { leaderExplainer } from "../../explain/leader.ts";
import { CONTROLLER_LEASE } from "../../kube/members/agent-lease.ts";
import { EXPLAINED_KINDS, explainersOf, type ConfigNamespaces } from "../../explain/explainers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import type { Selection } from "../../kube/client/resource-client.ts";
import { agentSelector } from "../../kube/members/agent-lease.ts";
import { agentWaits } from "../../kube/members/agent-health.ts";

export interface ReadGraph {
  readonly graph: CauseGraph;
  /** Kinds that could not be read, and why: what they would say is missing. */
  readonly unread: readonly { readonly kind: string; readonly why: string }[];
}

/** The cause graph of what an API server holds at this moment. */
export async function readGraph(client: KubeClient, namespaces: ConfigNamespaces, now: number, signal: AbortSignal): Promise<ReadGraph> {
  const graph = new CauseGraph([...explainersOf(namespaces), leaderExplainer(now), agentWaits]);
  const unread: { kind: string; why: string }[] = [];
  await Promise.all(
    [
      ...EXPLAINED_KINDS.map((kind): [Kind, Selection] => [kind, {}]),
      [Lease, { fieldSelector: `metadata.name=${CONTROLLER_LEASE}` }] as const,
      [Lease, { labelSelector: agentSelector }] as const,
    ].map(async ([kind, selection]: readonly [Kind, Selection]) => {
      try {
        const { items } = await client.resource<KubeObject>(kind).list({ ...selection, signal });
        for (const item of items) graph.put(kind, item);
      } catch (error) {
        if (isKubeError(error, "NotFound")) return;
        if (!isKubeError(error, "Forbidden")) throw error;
        if (!unread.some((one) => one.kind === kind.kind)) unread.push({ kind: kind.kind, why: error.message });
      }
    }),
  );
  return { graph, unread };
}
