import { setTimeout as sleep } from "node:timers/promises";
import { startControlPlane } from "../kube/control-plane.ts";
import { installCrds } from "../kube/install-crds.ts";
import { progressOn } from "../progress.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { LeaderElector } from "../../src/kube/leader/leader.ts";
import { createLog } from "../../src/kube/log.ts";
import { heartbeat } from "../../src/kube/members/heartbeat.ts";
import { WriteBudget } from "../../src/kube/status/budget.ts";
import { StatusWriter } from "../../src/kube/status/status-writer.ts";
import { addControllerComponents } from "../../src/cli/shared/controller-components.ts";
import { untilStopped } from "../../src/cli/shared/signals.ts";

const NODES = ["n1", "n2", "n3"];
const NAMESPACE = "plumbline-system";
const ROUTER_NAMESPACE = "openperouter-system";
/** A third of what a cluster has, so that the show does not drag. */
const TIMES = { durationMs: 9_000, renewMs: 3_000 };
const SILENT_NODE = "n2";

/**
 * A real API server, the real controller, and on each node a stand-in for the agent that beats and reports but routes nothing.
 * One of them falls silent and comes back.
 */
export async function tour({ stay }: { stay: boolean }): Promise<void> {
  const stopped = new AbortController();
  const stopRequested = untilStopped().then(() => stopped.abort());
  const plane = await startControlPlane({ kwok: true, progress: progressOn(process.stderr) });
  try {
    const show = new Show(await accessFromKubeconfig({ path: plane.kubeconfig }), stopped.signal);
    await show.play().catch((error: unknown) => {
      if (!stopped.signal.aborted) throw error;
    });
    if (stay && !stopped.signal.aborted) {
      say(`\nRunning until Ctrl-C. In another terminal:\n  export KUBECONFIG=${plane.kubeconfig}\n  kubectl get rncs -A -w`);
      await stopRequested;
    }
    await show.end();
  } finally {
    await plane.stop();
  }
  say("Everything is removed.");
}

class Show {
  readonly #client: KubeClient;
  readonly #signal: AbortSignal;
  readonly #over = new AbortController();
  readonly #statuses: Cache<RouterNodeConfigurationStatus>;
  readonly #running: Promise<void>[] = [];
  readonly #log = createLog({ level: "error" });

  constructor(access: KubeClient["access"], signal: AbortSignal) {
    this.#client = new KubeClient(access);
    this.#signal = signal;
    this.#statuses = new Cache(this.#client, RouterNodeConfigurationStatus);
  }

  async play(): Promise<void> {
    await this.#furnish();
    this.#startController();
    say("\nThree agents report. These are stand-ins: they renew their Leases and report, but route nothing.");
    const agents = new Map<string, () => void>();
    for (const node of NODES) agents.set(node, await this.#startAgent(node));
    await this.#until(() => this.#ready().every((status) => status === "True"));
    this.#table();

    say(`\nThe agent on ${SILENT_NODE} stops reporting. Its last report stays, marked Unknown:`);
    agents.get(SILENT_NODE)?.();
    await this.#until(() => this.#ready(SILENT_NODE)[0] === "Unknown");
    this.#table();

    say(`\nIt comes back and updates its report:`);
    await this.#startAgent(SILENT_NODE);
    await this.#until(() => this.#ready().every((status) => status === "True"));
    this.#table();
  }

  async end(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#running);
    this.#client.close();
  }

  async #furnish(): Promise<void> {
    const options = { signal: this.#signal };
    await installCrds(this.#client, CUSTOM_KINDS, this.#signal);
    for (const name of [NAMESPACE, ROUTER_NAMESPACE]) await this.#client.resource(Namespace).create({ metadata: { name } }, options);
    for (const name of NODES) await this.#client.resource(Node).create({ metadata: { name }, spec: {} }, options);
    this.#statuses.start(this.#over.signal);
    await this.#statuses.waitForSync(this.#signal);
  }

  #startController(): void {
    const client = new KubeClient(this.#client.access);
    const log = this.#log;
    const leader = new LeaderElector({ client, namespace: NAMESPACE, name: "plumbline-controller", identity: "tour", log });
    const manager = new Manager({ client, log, leader });
    addControllerComponents({
      manager,
      client: client.fenced(() => leader.assertLeading()),
      log,
      namespace: NAMESPACE,
      routerNamespace: ROUTER_NAMESPACE,
      waitForOldWrites: (signal) => leader.waitForOldWrites(signal),
      silenceMs: TIMES.durationMs,
    });
    this.#running.push(manager.run(this.#over.signal));
  }

  /** Returns what silences it. */
  async #startAgent(node: string): Promise<() => void> {
    const client = this.#client;
    const uid = (await client.resource(Node).get(node, { signal: this.#signal })).metadata.uid ?? "";
    const writer = new StatusWriter<RouterNodeConfigurationStatus>({
      client,
      cache: this.#statuses,
      kind: RouterNodeConfigurationStatus,
      budget: new WriteBudget(),
      log: this.#log,
    });
    writer.set(`${ROUTER_NAMESPACE}/${node}`, {
      status: {
        conditions: [
          {
            type: "Ready",
            status: "True",
            reason: "ConfigurationSuccessful",
            message: "A stand-in for the agent reports; nothing is routed",
          },
          { type: "Degraded", status: "False", reason: "ConfigurationSuccessful", message: "" },
        ],
      },
      create: { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid }] } },
    });
    const silenced = new AbortController();
    const signal = AbortSignal.any([silenced.signal, this.#over.signal]);
    const beating = heartbeat({ client, namespace: NAMESPACE, node, nodeUid: () => uid, log: this.#log, ...TIMES });
    this.#running.push(beating.run(signal), writer.run(signal));
    return () => silenced.abort();
  }

  #ready(node?: string): string[] {
    return NODES.filter((name) => node === undefined || name === node).map((name) => this.#condition(name, "Ready").status);
  }

  #condition(node: string, type: string): { status: string; message: string } {
    const conditions = this.#statuses.get(`${ROUTER_NAMESPACE}/${node}`)?.status?.conditions ?? [];
    return conditions.find((condition) => condition.type === type) ?? { status: "", message: "" };
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) await sleep(100, undefined, { signal: this.#signal });
  }

  #table(): void {
    say(`  ${"NAME".padEnd(6)}${"READY".padEnd(9)}${"DEGRADED".padEnd(10)}MESSAGE`);
    for (const node of NODES) {
      const ready = this.#condition(node, "Ready");
      say(`  ${node.padEnd(6)}${ready.status.padEnd(9)}${this.#condition(node, "Degraded").status.padEnd(10)}${ready.message}`);
    }
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
