import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { keyOf } from "../../src/api/kind.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import type { Log } from "../../src/kube/log.ts";
import type { RemoteProcess } from "../machine/machine.ts";
import { hostOf, type Net } from "../net/net.ts";
import type { NodeName } from "../net/topology.ts";
import { plugIn, podAddress } from "./pod-network.ts";

const PROGRAM = join(import.meta.dirname, "http-echo.ts");
const FIRST_NUMBER = 2;
const LAST_NUMBER = 254;
/** From not ready to gone: by then all nodes know that it terminates, on a busy machine too. A cluster gives its pods half a minute. */
const LEAVING_MS = 5_000;

interface Running {
  readonly node: NodeName;
  readonly number: number;
  readonly namespace: string;
  process?: RemoteProcess;
}

interface KubeletOptions {
  readonly client: KubeClient;
  readonly net: Net;
  readonly log: Log;
}

/** The kubelets of all nodes: a pod is a process in a network namespace that answers HTTP with its name on its container ports, whatever its image. */
export class Kubelet {
  readonly #options: KubeletOptions;
  readonly #pods: Cache<Pod>;
  readonly #running = new Map<string, Running>();
  readonly #next = new Map<NodeName, number>();
  #queue: Promise<void> = Promise.resolve();

  constructor(options: KubeletOptions) {
    this.#options = options;
    this.#pods = new Cache(options.client, Pod);
  }

  /** Until the signal; pods end with the lab. */
  start(signal: AbortSignal): void {
    this.#pods.subscribe((change) => {
      const { object } = change;
      const ends = change.type === "deleted" || object.metadata.deletionTimestamp !== undefined;
      // One after the other: a pod that comes and goes at once must not overtake itself.
      this.#queue = this.#queue
        .then(() => (ends ? this.#leave(object, signal) : this.#enter(object, signal)))
        .catch((error: unknown) => {
          if (!signal.aborted) this.#options.log.warn({ pod: keyOf(object), error }, "a pod of the lab was not served");
        });
    });
    this.#pods.start(signal);
  }

  async #enter(pod: Pod, signal: AbortSignal): Promise<void> {
    const uid = pod.metadata.uid ?? "";
    const { client, net } = this.#options;
    const node = net.topology.nodes.find((name) => name === pod.spec.nodeName);
    if (!node || this.#running.has(uid) || this.#pods.get(keyOf(pod))?.metadata.uid !== uid) return;
    const running: Running = { node, number: this.#free(node), namespace: `pod-${uid.slice(0, 13)}` };
    this.#running.set(uid, running);
    await plugIn(net, node, running.namespace, running.number);
    const ports = pod.spec.containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => String(containerPort)));
    running.process = await this.#answer(hostOf(net, node).start(answering(running.namespace, pod.metadata.name, ports)), ports.length);
    await client.resource(Pod).patchStatus(pod.metadata, readyStatus(podAddress(node, running.number)), { signal });
  }

  /** Resolves when it listens on all ports. */
  async #answer(process: RemoteProcess, ports: number): Promise<RemoteProcess> {
    let listening = 0;
    const all = new Promise<void>((resolve) => {
      process.onOutput = (chunk) => {
        listening += chunk.toString().split("\n").length - 1;
        if (listening >= ports) resolve();
      };
    });
    await (ports === 0 ? Promise.resolve() : Promise.race([all, process.ended]));
    return process;
  }

  #leave(pod: Pod, signal: AbortSignal): void {
    const uid = pod.metadata.uid ?? "";
    const running = this.#running.get(uid);
    if (!running) return;
    this.#running.delete(uid);
    void this.#end(pod, running, signal).catch((error: unknown) => {
      if (!signal.aborted && !isKubeError(error, "NotFound", "Conflict"))
        this.#options.log.warn({ pod: keyOf(pod), error }, "a pod of the lab was not ended");
    });
  }

  async #end(pod: Pod, running: Running, signal: AbortSignal): Promise<void> {
    await sleep(LEAVING_MS, undefined, { signal });
    await running.process?.kill();
    await hostOf(this.#options.net, running.node).run(["ip", "netns", "del", running.namespace]);
    const { name, namespace = "", uid } = pod.metadata;
    await this.#options.client.request("DELETE", `/api/v1/namespaces/${namespace}/pods/${name}`, {
      body: { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0, preconditions: { uid } },
      signal,
    });
  }

  /** In turn: a number that has just become free has the old pod's MAC in the node's memory, and packets for the new one would go nowhere. */
  #free(node: NodeName): number {
    const taken = new Set([...this.#running.values()].filter((one) => one.node === node).map(({ number }) => number));
    const count = LAST_NUMBER - FIRST_NUMBER + 1;
    const from = this.#next.get(node) ?? FIRST_NUMBER;
    for (let step = 0; step < count; step++) {
      const number = FIRST_NUMBER + ((from - FIRST_NUMBER + step) % count);
      if (taken.has(number)) continue;
      this.#next.set(node, number + 1);
      return number;
    }
    throw new RangeError(`${node} has ${taken.size} pods, which is all it can have`);
  }
}

function answering(namespace: string, name: string, ports: readonly string[]): string[] {
  return ["ip", "netns", "exec", namespace, process.execPath, "--disable-warning=ExperimentalWarning", PROGRAM, name, ...ports];
}

function readyStatus(address: string): object {
  const conditions = ["Initialized", "PodScheduled", "ContainersReady", "Ready"].map((type) => ({ type, status: "True" }));
  return { status: { phase: "Running", podIP: address, podIPs: [{ ip: address }], startTime: new Date().toISOString(), conditions } };
}
