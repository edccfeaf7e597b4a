import { nodeAnnotation } from "../api/annotations.ts";
import type { Node } from "../api/core/node.ts";
import { Secret } from "../api/core/secret.ts";
import { L2VNI } from "../api/openpe/l2vni.ts";
import { L3Passthrough } from "../api/openpe/l3passthrough.ts";
import { L3VNI } from "../api/openpe/l3vni.ts";
import { RawFRRConfig } from "../api/openpe/raw-frr-config.ts";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../api/openpe/underlay.ts";
import { Cache } from "../kube/cache/cache.ts";
import { ReferencedSecrets } from "../kube/controller/referenced-secrets.ts";
import { backoffMs } from "../util/backoff.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { controller, type Result } from "../kube/controller/controller.ts";
import type { Manager } from "../kube/controller/manager.ts";
import { ChannelSource, changesOf } from "../kube/controller/source.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { Log } from "../kube/log.ts";
import { Overlay, type OverlayOptions } from "./overlay.ts";
import { apiAnswers } from "./protected-interfaces.ts";
import { countPass, routerChanges, routerFrrRestarts } from "./metrics.ts";
import type { WriteBudget } from "../kube/status/budget.ts";
import { StatusWriter } from "../kube/status/status-writer.ts";
import { LinkWatch, neighborController } from "./link-watcher.ts";
import { ownIndex } from "./node-index.ts";
import type { RouterInputs, NodeRouter, PassResult } from "./node-router.ts";
import { passwordOnly, secretsOf } from "./observe.ts";
import type { RouterObjects } from "./model/observed.ts";
import { readObjects } from "./dialects/read-objects.ts";
import { onlyObserved, type PassOutcome, report, setLastUpdateTime } from "./report.ts";
import { type PollScope, type FrrAnswer, RouterSessionPoller } from "./sessions.ts";
import {
  damageEvent,
  driftEvents,
  type Failing,
  failing,
  failureEvents,
  findObject,
  floodRepairEvent,
  foreignEvents,
  type KnownForeign,
  knownForeign,
  restartEvent,
  type RouterEvent,
  stillFailing,
  withKind,
} from "./events.ts";

export interface RouterOptions {
  manager: Manager;
  client: KubeClient;
  log: Log;
  node: string;
  /** This node alone. */
  nodes: Cache<Node>;
  /** Where the configuration is, and the status goes. */
  namespace: string;
  router: NodeRouter;
  /** How FRR's sessions and VNIs are. */
  poll(scope: PollScope, signal: AbortSignal): Promise<FrrAnswer>;
  budget: WriteBudget;
  events: EventRecorder;
  /** Given where the overlay is probed. */
  overlay?: OverlayOptions;
}

/** A pass may wait a minute for the API server after it moved an interface. */
const PASS_MS = 180_000;
const RESYNC_MS = 60_000;
const RECHECK_MS = 5_000;
/** How long a pass waits for Secrets that are named for the first time. */
const SECRETS_MS = 2_000;
const RETRY = { minMs: 500, maxMs: 60_000 };
const UNAVAILABLE = { minMs: 250, maxMs: 15_000 };

/** Runs the router of this node: applies the configuration and reports the result. */
export function addRouterAgent(options: RouterOptions): void {
  const { manager, client, log, node, nodes, namespace, budget } = options;
  const statuses = manager.cache(RouterNodeConfigurationStatus, { namespace, fieldSelector: `metadata.name=${node}` });
  const caches = {
    underlays: manager.cache(Underlay, { namespace }),
    l2vnis: manager.cache(L2VNI, { namespace }),
    l3vnis: manager.cache(L3VNI, { namespace }),
    passthroughs: manager.cache(L3Passthrough, { namespace }),
    rawConfigs: manager.cache(RawFRRConfig, { namespace }),
  };

  const channel = new ChannelSource();
  const secrets = new ReferencedSecrets({
    namespace,
    open: (name) => new Cache(client, Secret, { namespace, fieldSelector: `metadata.name=${name}`, transform: passwordOnly, log }),
    onChange: () => channel.ring(node),
  });
  const here = () => [node];
  const writer = new StatusWriter<RouterNodeConfigurationStatus>({
    client,
    cache: statuses,
    kind: RouterNodeConfigurationStatus,
    budget,
    log,
    stamp: setLastUpdateTime,
    damps: onlyObserved,
  });
  const links = new LinkWatch(options.router.namespaces, () => channel.ring(node), log);
  const agent = new RouterAgent({ ...options, statuses, writer, links });
  const sessions = new RouterSessionPoller({
    poll: (scope, signal) => options.poll(scope, signal),
    onChange: () => agent.publish(),
    onRestart() {
      routerFrrRestarts.inc();
      agent.frrRestarted = true;
      channel.ring(node);
    },
  });
  agent.sessions = sessions;
  if (options.overlay) {
    agent.overlay = new Overlay({
      ...options,
      ...options.overlay,
      isConnected: () => sessions.isConnected,
      onChange() {
        agent.publish();
        // What is in the way of its packets is named now, and not within a minute.
        channel.ring(node);
      },
      onRepaired: (entries) => agent.floodRepaired(entries),
    });
    manager.add(agent.overlay);
  }

  manager.add(
    controller("router", {
      watches: [
        changesOf(nodes, here),
        changesOf(caches.underlays, here),
        changesOf(caches.l2vnis, here),
        changesOf(caches.l3vnis, here),
        changesOf(caches.passthroughs, here),
        changesOf(caches.rawConfigs, here),
        channel,
      ],
      log,
      timeoutMs: PASS_MS,
      resyncMs: RESYNC_MS,
      async reconcile(_key, { signal }) {
        const object = nodes.get(node);
        // In a cluster the kubelet makes it; the status belongs to it.
        if (!object) {
          log.warn({ node }, "this node has no Node object");
          agent.forget();
          return undefined;
        }
        const index = (running: number | undefined) => ownIndex(object, running, client, signal);
        const now = readObjects({
          underlays: caches.underlays.list(),
          l2vnis: caches.l2vnis.list(),
          l3vnis: caches.l3vnis.list(),
          passthroughs: caches.passthroughs.list(),
          rawConfigs: caches.rawConfigs.list(),
        });
        await secrets.follow(secretsOf(now), SECRETS_MS, signal);
        agent.noteSecrets(secrets.impairment()?.message, now);
        return agent.pass({ node: object, index, objects: now, secret: (name) => secrets.get(name) }, signal);
      },
    }),
  );
  manager.add(secrets);
  manager.add(sessions);
  manager.add(links);
  manager.add(neighborController(options.router.namespaces.router, log));
  manager.add(writer, { phase: "writers" });
}

interface AgentOptions extends RouterOptions {
  statuses: { get(key: string): RouterNodeConfigurationStatus | undefined };
  writer: StatusWriter<RouterNodeConfigurationStatus>;
  links: LinkWatch;
}

/** State between passes: reports the last one and schedules the next. */
class RouterAgent {
  readonly #options: AgentOptions;
  readonly #key: string;
  sessions: Pick<RouterSessionPoller, "state" | "includeVnis"> = { state: undefined, includeVnis: () => undefined };
  overlay: Overlay | undefined;
  /** Since the last pass. */
  frrRestarted = false;
  #last: { view: RouterInputs; outcome: PassOutcome } | undefined;
  #failing: ReadonlyMap<string, Failing> | undefined;
  #failures = 0;
  #passes = 0;
  /** Whether the first pass found the router as the agent before left it. */
  #isTakenOver = false;
  #unavailable: string | undefined;
  #unreadSecrets: string | undefined;
  #foreign: readonly KnownForeign[] | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#key = `${options.namespace}/${options.node}`;
  }

  async pass(view: RouterInputs, signal: AbortSignal): Promise<Result> {
    const { router, client, node, links } = this.#options;
    const restarted = this.frrRestarted;
    this.frrRestarted = false;
    const show = (outcome: PassOutcome) => {
      this.#last = { view, outcome };
      this.overlay?.linksChanged();
      this.publish();
    };
    const hooks = { apiAnswers: () => apiAnswers(client, node, signal), onRebuild: show, onNewNamespace: () => links.reopen() };
    const result = await router.pass(view, hooks, signal);
    if (result.done && result.done.changes.length > 0) this.sessions.includeVnis();
    if (this.#passes === 0) this.#isTakenOver = result.done?.changes.every(({ links }) => links === 0) ?? false;
    show(result.outcome);
    countPass(result);
    this.#report(view, result, restarted);
    return this.#next(result);
  }

  /** Hands the current state to the status writer, which writes only changes. */
  publish(): void {
    if (!this.#last) return;
    const { view, outcome } = this.#last;
    const { name: node, uid } = view.node.metadata;
    const frr = outcome.unavailable === undefined ? this.sessions.state : undefined;
    const before = this.#isTakenOver ? this.#options.statuses.get(this.#key)?.status : undefined;
    this.#options.writer.set(this.#key, {
      status: report(outcome, frr, this.overlay?.state(), before),
      create: {
        metadata: {
          annotations: { [nodeAnnotation]: node },
          ...(uid !== undefined && { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid }] }),
        },
      },
    });
  }

  /** Flood entries that somebody removed, or that the kernel lost. */
  floodRepaired(entries: readonly string[]): void {
    routerChanges.inc({ what: "links", why: "drift" }, entries.length);
    if (this.#last) this.#record(this.#last.view, floodRepairEvent(entries, this.#options.node));
  }

  /** Secrets that can no longer be read: a new password would go unnoticed. */
  noteSecrets(unread: string | undefined, { underlays }: RouterObjects): void {
    if (unread !== undefined && unread !== this.#unreadSecrets) {
      const { node, events } = this.#options;
      for (const underlay of underlays) {
        const object = secretsOf({ underlays: [underlay] }).size > 0 ? withKind(Underlay, underlay) : undefined;
        if (object) events.record(object, { type: "Warning", reason: "SecretUnreadable", message: `Node ${node}: ${unread}` });
      }
    }
    this.#unreadSecrets = unread;
  }

  /** The Node is gone, and its status with it. The router keeps running. */
  forget(): void {
    this.#last = undefined;
    this.#options.writer.forget(this.#key);
  }

  #report(view: RouterInputs, { outcome, done, error, damage }: PassResult, restarted: boolean): void {
    const { node, log, statuses } = this.#options;
    // After an agent restart, the status has the failures that users know of.
    this.#failing ??= failing(statuses.get(this.#key)?.status?.failedResources ?? []);
    const events = error === undefined ? failureEvents(this.#failing, outcome, node) : [];
    if (error === undefined) this.#failing = stillFailing(this.#failing, outcome);
    this.#passes += 1;
    if (damage) events.push(damageEvent(damage, node));
    const known = this.#foreign ?? knownForeign(statuses.get(this.#key)?.status);
    if (outcome.foreign) events.push(...foreignEvents(known, outcome.foreign, node));
    this.#foreign = outcome.foreign ?? this.#foreign;
    // Reported once FRR is back: until then the status says RouterUnavailable.
    if (restarted && !done) this.frrRestarted = true;
    if (restarted && done) events.push(restartEvent(done, node));
    if (done && this.#passes > 1) events.push(...driftEvents(done, node, { frrRestarted: restarted }));
    for (const event of events) this.#record(view, event);
    for (const { owner, links, lines, drift } of done?.changes ?? []) log.info({ owner, links, lines, drift }, "router changed");
    if (error !== undefined && outcome.unavailable !== this.#unavailable) log.warn({ error }, "cannot configure the router");
    if (error === undefined && this.#unavailable !== undefined) log.info("router available again");
    this.#unavailable = outcome.unavailable;
  }

  #record({ objects }: RouterInputs, { about, text }: RouterEvent): void {
    const { events, statuses } = this.#options;
    const object = about === "status" ? withKind(RouterNodeConfigurationStatus, statuses.get(this.#key)) : findObject(objects, about);
    if (object) events.record(object, text);
  }

  #next({ outcome, done, error }: PassResult): Result {
    const retried = error !== undefined || outcome.failures.some((failure) => failure.class === "Transient");
    this.#failures = retried ? this.#failures + 1 : 0;
    if (retried) return { requeueAfter: backoffMs(this.#failures, error === undefined ? RETRY : UNAVAILABLE) };
    // New links: by then FRR knows their addresses, or has missed them.
    if (done?.changes.some(({ links }) => links > 0)) return { requeueAfter: RECHECK_MS };
  }
}
