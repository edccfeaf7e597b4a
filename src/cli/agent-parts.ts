import { hostname } from "node:os";
import { Node } from "../api/core/node.ts";
import type { FrrInstance } from "../frr/instance.ts";
import { ensureNamespace } from "../hostnet/namespaces.ts";
import { backoffMs } from "../kube/backoff.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { pause } from "../kube/client/pause.ts";
import type { Runnable } from "../kube/controller/controller.ts";
import { aborted } from "../kube/controller/ending.ts";
import type { Manager } from "../kube/controller/manager.ts";
import { EventRecorder } from "../kube/events.ts";
import type { Log } from "../kube/log.ts";
import { heartbeat } from "../kube/members/heartbeat.ts";
import { WriteBudget } from "../kube/status/budget.ts";
import { addRouter } from "../router/controller.ts";
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

/** What runs on a node: its heartbeat and its router. */
export function addAgentParts({ manager, client, log, node, namespace, routerNamespace, place, startFrr }: AgentPartsOptions): void {
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
    ask: (signal) => askFrr(frr, signal),
    budget: new WriteBudget(),
    events,
  });
  if (startFrr) manager.add(ours);
  manager.add(events, { stage: "writers" });
  manager.add(connections(frr), { stage: "writers" });
}

/** Open connections would keep the process from ending; they are closed when nobody needs them any more. */
function connections({ router }: FrrInstance): Runnable {
  return {
    name: "connections to FRR",
    async run(signal) {
      await aborted(signal);
      router.close();
    },
  };
}

const RETRY = { minMs: 500, maxMs: 15_000 };

/** FRR's daemons, started if they do not run and started again if they die. They are left running when we end. */
class FrrUnderUs implements Runnable {
  readonly name = "FRR";
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
