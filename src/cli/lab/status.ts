import { NODES } from "../../../lab/net/topology.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { accessFromKubeconfig } from "../../kube/client/access.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { ROUTER_NAMESPACE } from "./api.ts";
import type { RunningLab } from "./running.ts";

/** What one node of the lab says of itself. */
interface NodeLine {
  readonly node: string;
  readonly conditions: string;
  readonly sessions: string;
}

/** `Ready=True Degraded=False` */
export function conditionsText({ status }: RouterNodeConfigurationStatus): string {
  return (status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`).join(" ");
}

export async function labClient({ kubeconfig }: Pick<RunningLab, "kubeconfig">): Promise<KubeClient> {
  return new KubeClient(await accessFromKubeconfig({ path: kubeconfig }));
}

export async function nodeLines(lab: RunningLab, signal: AbortSignal): Promise<NodeLine[]> {
  const client = await labClient(lab);
  try {
    const { items } = await client.resource(RouterNodeConfigurationStatus).list({ namespace: ROUTER_NAMESPACE, signal });
    return NODES.map((node) => {
      const found = items.find(({ metadata }) => metadata.name === node);
      const sessions = (found?.status?.sessions ?? []).map(({ neighbor, state }) => `${neighbor} ${state}`).join(", ");
      return { node, conditions: found ? conditionsText(found) : "no status yet", sessions };
    });
  } finally {
    client.close();
  }
}

export function statusTable(lab: RunningLab, nodes: readonly NodeLine[]): string {
  const where = lab.kernel === "uml" ? "User-Mode Linux" : "this machine's kernel";
  const width = Math.max(...nodes.map(({ conditions }) => conditions.length), "CONDITIONS".length) + 3;
  return [
    `Running on ${where}, API at ${lab.url}`,
    `KUBECONFIG=${lab.kubeconfig}`,
    `Logs in ${lab.directory}`,
    "",
    `${"NODE".padEnd(8)}${"CONDITIONS".padEnd(width)}SESSIONS`,
    ...nodes.map(({ node, conditions, sessions }) => `${node.padEnd(8)}${conditions.padEnd(width)}${sessions}`.trimEnd()),
  ].join("\n");
}
