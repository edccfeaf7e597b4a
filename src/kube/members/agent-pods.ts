import { DaemonSet } from "../../api/core/daemon-set.ts";
import { Pod } from "../../api/core/pod.ts";
import type { Cache } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";

export interface AgentPodsOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  daemonSets: Cache<DaemonSet>;
  pods: Cache<Pod>;
}

/** Since when each node has been without an agent Pod, as far as this process observed. */
export class AgentPods {
  readonly options: AgentPodsOptions;
  readonly #lastPod = new Map<string, number>();
  #clearSince = performance.now();

  constructor(options: AgentPodsOptions) {
    this.options = options;
    for (const cache of [options.pods, options.daemonSets]) {
      cache.onConnection(() => {
        this.#clearSince = performance.now();
      });
    }
    options.pods.subscribe(({ object }) => {
      const node = nodeOfPod(object);
      if (node !== undefined && isAgentOf(options.name, object)) this.#lastPod.set(node, performance.now());
    });
  }

  /** Starts over: times without a watch do not count. */
  begin(): void {
    this.#lastPod.clear();
    this.#clearSince = performance.now();
  }

  /** How long the node has had no agent Pod while the DaemonSet wants none there; undefined if either does not apply. */
  absenceMs(node: string): number | undefined {
    const { namespace, name, daemonSets, pods } = this.options;
    if (!isRolledOut(daemonSets.get(`${namespace}/${name}`)) || onNode(name, node, pods.list())) return undefined;
    return performance.now() - Math.max(this.#clearSince, this.#lastPod.get(node) ?? -Infinity);
  }

  /** Reads from the server. */
  async isAbsent(node: string, signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name } = this.options;
    if (!isRolledOut(await client.resource(DaemonSet).get(name, { namespace, signal }))) return false;
    for (const bound of [node, ""]) {
      const { items } = await client.resource(Pod).list({ namespace, fieldSelector: `spec.nodeName=${bound}`, signal });
      if (onNode(name, node, items)) return false;
    }
    return true;
  }
}

/**
 * The controller has observed the newest spec, and every wanted Pod exists and is up to date. Readiness says nothing about a node without
 * one.
 */
export function isRolledOut(daemonSet: DaemonSet | undefined): boolean {
  if (!daemonSet?.status || daemonSet.metadata.deletionTimestamp !== undefined) return false;
  const { observedGeneration, desiredNumberScheduled, currentNumberScheduled, updatedNumberScheduled = 0 } = daemonSet.status;
  return (
    observedGeneration === daemonSet.metadata.generation &&
    currentNumberScheduled === desiredNumberScheduled &&
    updatedNumberScheduled === desiredNumberScheduled
  );
}

function onNode(daemonSet: string, node: string, pods: readonly Pod[]): boolean {
  return pods.some((pod) => nodeOfPod(pod) === node && isAgentOf(daemonSet, pod));
}

/** Also before it is bound: the DaemonSet controller creates each Pod for one node. */
function nodeOfPod({ spec: { nodeName, affinity } }: Pod): string | undefined {
  if (nodeName !== undefined) return nodeName;
  const { nodeSelectorTerms = [] } = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? {};
  const fields = nodeSelectorTerms.flatMap(({ matchFields = [] }) => matchFields);
  return fields.find(({ key, operator }) => key === "metadata.name" && operator === "In")?.values?.[0];
}

function isAgentOf(daemonSet: string, { metadata }: Pod): boolean {
  return metadata.ownerReferences?.some(({ kind, name }) => kind === "DaemonSet" && name === daemonSet) ?? false;
}
