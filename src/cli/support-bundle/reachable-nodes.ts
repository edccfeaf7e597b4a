import { Pod } from "../../api/core/pod.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { LOAD_BALANCER, ROUTER_HOST_DEFAULTS } from "../shared/agent-options.ts";
import type { ClusterOptions } from "../shared/connection.ts";
import { hasLab, loadFromLab } from "../shared/lab-loader.ts";
import type { NodePaths } from "./node-state.ts";
import { runHere, type RunOnNode } from "./run-on-node.ts";

/** A node whose FRR and kernel can be read from here. */
export interface ReachableNode {
  readonly name: string;
  readonly run: RunOnNode;
}

export const NODE_PATHS: NodePaths = {
  routerNetns: ROUTER_HOST_DEFAULTS.routerNetns,
  frrRunDirectory: ROUTER_HOST_DEFAULTS.frrRunDirectory,
  lbFrrRunDirectory: LOAD_BALANCER.lbFrrRunDirectory,
};

/** All nodes of the lab of this server; undefined if it is not that of a lab. */
export async function labNodes(server: string, signal: AbortSignal): Promise<readonly ReachableNode[] | undefined> {
  const labs = hasLab() ? await loadFromLab("cli/running.ts") : undefined;
  const lab = await labs?.background.find();
  // Without a kubeconfig its embedded API is found by its socket.
  if (!labs || !lab || (lab.url !== server && !server.startsWith(`unix:${lab.directory}/`))) return undefined;
  return lab.topology.nodes.map((name) => ({ name, run: (command) => labs.hostIn(lab, name).run(command, { signal }) }));
}

/** This machine; undefined without the rights. */
export function thisNode(name: string, signal: AbortSignal): ReachableNode | undefined {
  return process.getuid?.() === 0 ? { name, run: (command) => runHere(command, signal) } : undefined;
}

const FRR_PODS = "app.kubernetes.io/name=plumbline,app.kubernetes.io/component=frr";

/** The nodes of a cluster, through `kubectl exec` in the pods of DaemonSet plumbline-frr: it takes the rights of who asks. */
export async function clusterNodes(
  client: KubeClient,
  { namespace, kubeconfig, context }: ClusterOptions & { readonly namespace: string },
  signal: AbortSignal,
): Promise<readonly ReachableNode[]> {
  const { items } = await client.resource(Pod).list({ namespace, labelSelector: FRR_PODS, signal });
  const flags = [
    ...(kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig]),
    ...(context === undefined ? [] : ["--context", context]),
  ];
  return items
    .filter(({ metadata, spec, status }) => metadata.deletionTimestamp === undefined && status?.phase === "Running" && spec?.nodeName)
    .map(({ metadata, spec }) => ({
      name: spec?.nodeName ?? "",
      run: (command) => runHere(["kubectl", ...flags, "exec", "-n", namespace, metadata.name, "-c", "frr", "--", ...command], signal),
    }));
}
