import { hostname } from "node:os";
import { Node } from "../api/core/node.ts";
import type { FrrInstance } from "../frr/instance.ts";
import { ensureNamespace } from "../hostnet/namespaces.ts";
import { backoffMs } from "../kube/backoff.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { pause } from "../kube/client/pause.ts";
import type { Manager } from "../kube/controller/manager.ts";
import { EventRecorder } from "../kube/events.ts";
import type { Log } from "../kube/log.ts";
import { heartbeat } from "../kube/members/heartbeat.ts";
import { WriteBudget } from "../kube/status/budget.ts";
import { addRouter } from "../router/controller.ts";
import type { NodeRouter } from "../router/node-router.ts";
import type { RouterPlaceOptions } from "./agent-options.ts";
import { askFrr, frrOf, routerOnMachine } from "./router-on-machine.ts";

export interface AgentPartsOptions {
  manager: Manager;
  client: KubeClient;
  log: Log;
  node: string;
  namespace: string;
  routerNamespace: string;
  place: RouterPlaceOptions;
  /** Whether FRR is ours to start and to keep running; otherwise somebody else does. */
  startFrr: boolean;
}

export interface AgentParts {
  /** Runs the manager and, besides it, what needs no cluster: FRR, and the last good router if the cluster is `away`. */
  run(signal: AbortSignal, options?: { away: boolean }): Promise<void>;
}

/** What runs on a node: its heartbeat and its router. */
export function addAgentParts(options: AgentPartsOptions): AgentParts {
  const { manager, client, log, node, namespace, routerNamespace, place, startFrr } = options;
  const nodes = manager.cache(Node, { fieldSelector: `metadata.name=${node}` });
  const events = new EventRecorder({ client, component: "plumbline-agent", instance: hostname(), log });
  const frr = frrOf(place, log);
  const ours = new FrrUnderUs(frr, place.routerNetns, log);
  const router = routerOnMachine(place, {
    frr,
    apiServer: client.access.server,
    log,
    ...(startFrr && { frrUp: () => ours.up() }),
  });

  manager.add(heartbeat({ client, namespace, node, nodeUid: () => nodes.get(node)?.metadata.uid, log }));
  addRouter({
    manager,
    client,
    log,
    node,
    nodes,
    namespace: routerNamespace,
    router,
    ask: (question, signal) => askFrr(frr, question, signal),
    budget: new WriteBudget(),
    events,
  });
  manager.add(events, { stage: "writers" });
  return {
    async run(signal, { away } = { away: false }) {
      const stop = new AbortController();
      const besides = startFrr ? [ours.run(stop.signal)] : [];
      if (away) besides.push(restore(router, log, stop.signal));
      try {
        await manager.run(signal);
      } finally {
        stop.abort();
        await Promise.all(besides);
        // Open connections would keep the process from ending.
        frr.router.close();
      }
    },
  };
}

async function restore(router: NodeRouter, log: Log, signal: AbortSignal): Promise<void> {
  try {
    await router.restore(signal);
  } catch (error) {
    if (!signal.aborted) log.error({ error }, "what was live last cannot be set up without the API server");
  }
}

const RETRY = { minMs: 500, maxMs: 15_000 };

/** FRR's daemons, started if they do not run and started again if they die. They are left running when we end. */
class FrrUnderUs {
  readonly #instance: FrrInstance;
  readonly #netns: string;
  readonly #log: Log;
  readonly #tried = Promise.withResolvers<void>();
  #problem: unknown;

  constructor(instance: FrrInstance, netns: string, log: Log) {
    this.#instance = instance;
    this.#netns = netns;
    this.#log = log;
  }

  /** Returns when it runs, and throws why it does not. */
  async up(): Promise<void> {
    await this.#tried.promise;
    if (this.#problem !== undefined) throw this.#problem;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await ensureNamespace(this.#netns, signal);
        await this.#instance.start(signal);
        this.#problem = undefined;
        this.#tried.resolve();
        await this.#instance.supervise(signal);
      } catch (error) {
        this.#problem = error;
        this.#tried.resolve();
        if (signal.aborted) return;
        this.#log.error({ error }, "FRR cannot be started, trying again");
        await pause(backoffMs(failures, RETRY), signal).catch(() => {});
      }
    }
  }
}
