import { DaemonSet } from "../../api/core/daemon-set.ts";
import { Pod } from "../../api/core/pod.ts";
import type { Cache } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";

export interface AgentPodsOptions {
  client: KubeClient;
  /** The DaemonSet of the agents. */
  namespace: string;
  name: string;
  daemonSets: Cache<DaemonSet>;
  pods: Cache<Pod>;
}

/** Where agents are Pods: since when each node has been without one, as far as this process has seen. */
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
      const node = object.spec.nodeName;
      if (node !== undefined && isAgentOf(options.name, object)) this.#lastPod.set(node, performance.now());
    });
  }

  /** Starts over: what was not watched does not count. */
  begin(): void {
    this.#lastPod.clear();
    this.#clearSince = performance.now();
  }

  /** For how long the node has been without an agent Pod while the DaemonSet wants none there; undefined while either is not so. */
  absenceMs(node: string): number | undefined {
    const { namespace, name, daemonSets, pods } = this.options;
    if (!isSettled(daemonSets.get(`${namespace}/${name}`)) || onNode(name, node, pods.list())) return undefined;
    return performance.now() - Math.max(this.#clearSince, this.#lastPod.get(node) ?? -Infinity);
  }

  /** The same question to the server itself. */
  async isAbsent(node: string, signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name } = this.options;
    if (!isSettled(await client.resource(DaemonSet).get(name, { namespace, signal }))) return false;
    const { items } = await client.resource(Pod).list({ namespace, fieldSelector: `spec.nodeName=${node}`, signal });
    return !onNode(name, node, items);
  }
}

/** The controller has seen the newest spec, and every Pod it wants is there, up to date and ready. */
export function isSettled(daemonSet: DaemonSet | undefined): boolean {
  if (!daemonSet?.status || daemonSet.metadata.deletionTimestamp !== undefined) return false;
  const { observedGeneration, desiredNumberScheduled, currentNumberScheduled, updatedNumberScheduled = 0, numberReady } = daemonSet.status;
  return (
    observedGeneration === daemonSet.metadata.generation &&
    [currentNumberScheduled, updatedNumberScheduled, numberReady].every((number) => number === desiredNumberScheduled)
  );
}

function onNode(daemonSet: string, node: string, pods: readonly Pod[]): boolean {
  return pods.some((pod) => pod.spec.nodeName === node && isAgentOf(daemonSet, pod));
}

function isAgentOf(daemonSet: string, { metadata }: Pod): boolean {
  return metadata.ownerReferences?.some(({ kind, name }) => kind === "DaemonSet" && name === daemonSet) ?? false;
}
