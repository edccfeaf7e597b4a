import { nodeAnnotation } from "../../api/annotations.ts";
import { join } from "node:path";
import { ConfigMap } from "../../api/core/config-map.ts";
import { Node } from "../../api/core/node.ts";
import { addChecks } from "../../connectivity/checker/add-checks.ts";
import { RouterConnector } from "../../connectivity/probe/router-connector.ts";
import { nodeOf } from "../../connectivity/source-of-check.ts";
import type { FrrInstance } from "../../frr/instance.ts";
import { ensureNamespace } from "../../hostnet/namespaces.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { EventRecorder } from "../../kube/events/events.ts";
import type { Log } from "../../kube/log.ts";
import { CONTROLLER_LEASE, nodeLabel } from "../../kube/members/agent-lease.ts";
import { heartbeat, reportWaiting } from "../../kube/members/heartbeat.ts";
import { agentsBefore, membersName } from "../../kube/members/members.ts";
import { loadSigningKey, type SigningKey } from "../../kube/members/signing-key.ts";
import { WriteBudget } from "../../kube/status/budget.ts";
import { addSpeaker } from "../../loadbalancer/speaker/agent.ts";
import { controllerWatch } from "../../loadbalancer/status/controller-watch.ts";
import { SpeakerStateStore } from "../../loadbalancer/speaker/stored-decisions.ts";
import { addRouterAgent } from "../../router/agent.ts";
import type { CheckOptions, LoadBalancerHostOptions, RouterHostOptions } from "./agent-options.ts";
import { ManagedFrr } from "./frr-supervisor.ts";
import { loadBalancerFrr, type LoadBalancerOnMachine, loadBalancerOnMachine } from "./loadbalancer-on-node.ts";
import { frrOf, readOverlay, readRouterState, routerOnMachine } from "./router-on-node.ts";
import { sleep } from "../../util/sleep.ts";
import { hostname } from "node:os";
import { routeTo } from "../../hostnet/route-to.ts";
import { isKubeError } from "../../kube/client/error.ts";

export interface AgentComponentsOptions {
  manager: Manager;
  client: KubeClient;
  log: Log;
  node: string;
  namespace: string;
  /** Set if this machine is a router. */
  routerNamespace?: string;
  hostOptions: RouterHostOptions;
  /** Set if this machine announces Services. */
  loadbalancer?: LoadBalancerHostOptions;
  /** The namespace of the controllers' reports, if there are several controllers: reports of dead ones are marked. */
  metallbNamespace?: string;
  /** Set if this machine runs its node's connectivity checks. */
  checks?: CheckOptions;
  /** Whether this process starts FRR and keeps it running. */
  startFrr: boolean;
  heartbeatMs?: number;
}

export interface AgentComponents {
  /** Runs the manager, and what needs no cluster: FRR, and the last applied state if the caches are not read within this time. */
  run(signal: AbortSignal, options?: { restoreAfterMs?: number }): Promise<void>;
}

/** One domain of the agent, without what the manager runs. */
interface Part extends Restorable {
  /** What needs no cluster. */
  run(signal: AbortSignal): Promise<unknown>;
  /** Open connections would keep the process running. */
  close(): void;
}

/** Layer 2 addresses stay for 20 s after an agent is killed. */
const RESTORE_AFTER_MS = 10_000;

interface Shared extends AgentComponentsOptions {
  nodes: Cache<Node>;
  budget: WriteBudget;
  events: EventRecorder;
  signingKey: SigningKey;
}

export function addAgentComponents(options: AgentComponentsOptions): AgentComponents {
  const { manager, client, log, node, namespace, routerNamespace, loadbalancer, checks } = options;
  const nodes = manager.cache(Node, { fieldSelector: `metadata.name=${node}` });
  const events = new EventRecorder({ client, component: "plumbline-agent", instance: node, log });
  const signingKey = loadSigningKey(options.hostOptions.stateDirectory, log);
  const shared: Shared = { ...options, nodes, events, signingKey, budget: new WriteBudget() };

  // The manager starts its first runnable when all caches are synced.
  const read = new AbortController();
  manager.add({ name: "first view of the cluster", run: () => Promise.resolve(read.abort()) });
  manager.add(
    heartbeat({
      client,
      namespace,
      node,
      nodeUid: () => nodes.get(node)?.metadata.uid,
      parts: [
        ...(routerNamespace === undefined ? [] : (["router"] as const)),
        ...(loadbalancer ? (["loadbalancer"] as const) : []),
        ...(checks ? (["connectivity"] as const) : []),
      ],
      signingKey: signingKey.publicKey,
      log,
      ...(options.heartbeatMs !== undefined && { renewMs: options.heartbeatMs }),
    }),
  );
  const parts: Part[] = [];
  const lbFrr = loadbalancer && loadBalancerFrr(options.hostOptions, loadbalancer, log);
  if (routerNamespace !== undefined) parts.push(routerPart(shared, routerNamespace, lbFrr));
  if (loadbalancer && lbFrr) parts.push(loadBalancerPart(shared, loadbalancer, lbFrr));
  if (checks) parts.push(checksPart(shared, checks));
  if (options.metallbNamespace !== undefined) addControllerWatch(options, options.metallbNamespace);
  manager.add(events, { phase: "writers" });
  return {
    async run(signal, { restoreAfterMs = RESTORE_AFTER_MS } = {}) {
      const stop = new AbortController();
      const broken = new AbortController();
      const besides = parts.map((part) => part.run(stop.signal).catch((error: unknown) => broken.abort(error)));
      besides.push(restoreUnlessRead(parts, { afterMs: restoreAfterMs, read: read.signal, log }, stop.signal));
      const waiting = { client, namespace, node, unread: () => manager.unread, log };
      besides.push(reportWaiting(waiting, AbortSignal.any([stop.signal, read.signal])));
      try {
        await manager.run(AbortSignal.any([signal, broken.signal]));
      } finally {
        stop.abort();
        await Promise.all(besides);
        for (const part of parts) part.close();
      }
      // Exit if one part fails: the supervisor restarts the whole agent.
      if (broken.signal.aborted) throw broken.signal.reason;
    },
  };
}

function addControllerWatch({ manager, client, log, node, namespace }: AgentComponentsOptions, metallbNamespace: string): void {
  const members = manager.lateCache(ConfigMap, { namespace, fieldSelector: `metadata.name=${membersName}` });
  const before = () => agentsBefore(node, members.get(`${namespace}/${membersName}`));
  const lease = CONTROLLER_LEASE;
  manager.add(controllerWatch({ client, log, namespace, lease, metallbNamespace, agentsBefore: before }));
}

function checksPart(shared: Shared, { allowTarget, checkInterval }: CheckOptions): Part {
  const { manager, client, log, node, namespace, hostOptions, events } = shared;
  const router = shared.routerNamespace === undefined ? undefined : new RouterConnector(hostOptions.routerNetns);
  const checks = addChecks({
    manager,
    client,
    log,
    events,
    name: node,
    selection: { namespace, labelSelector: `${nodeAnnotation}=${nodeLabel(node)}` },
    targetOf: (check) => (nodeOf(check, namespace) === node ? check.spec.targetEndpoint : undefined),
    stateDirectory: join(hostOptions.stateDirectory, "connectivity"),
    allowed: allowTarget,
    intervalMs: checkInterval,
    ...(router && { router }),
  });
  return { run: () => Promise.resolve(), restore: (signal, read) => checks.tryUntilRead(signal, read), close: () => router?.close() };
}

function routerPart(
  { manager, client, log, node, nodes, hostOptions, startFrr, budget, events, namespace: systemNamespace, signingKey }: Shared,
  namespace: string,
  hostFrr: FrrInstance | undefined,
): Part {
  const frr = frrOf(hostOptions, log);
  const ours = new ManagedFrr({ instance: frr, prepare: (signal) => ensureNamespace(hostOptions.routerNetns, signal), log });
  const router = routerOnMachine(hostOptions, {
    frr,
    hostFrr,
    apiServer: client.access.server,
    log,
    ...(startFrr && { frrUp: () => ours.up() }),
  });
  addRouterAgent({
    manager,
    client,
    log,
    node,
    nodes,
    namespace,
    router,
    poll: (scope, signal) => readRouterState(frr, router, scope, signal),
    budget,
    events,
    overlay: { systemNamespace, signingKey, observe: (signal) => readOverlay(frr, router, signal) },
  });
  return {
    async run(signal) {
      if (!startFrr) return;
      // Started at once, even without a configuration.
      ours.up().catch(() => undefined);
      await ours.run(signal);
    },
    restore: (signal) => router.restore(signal),
    close: () => frr.router.close(),
  };
}

function loadBalancerPart(
  { manager, client, log, node, namespace, hostOptions, startFrr, budget, events, signingKey }: Shared,
  loadbalancer: LoadBalancerHostOptions,
  frr: FrrInstance,
): Part {
  const ours = new ManagedFrr({ instance: frr, log });
  const memory = new SpeakerStateStore(hostOptions.stateDirectory, log);
  let machine: LoadBalancerOnMachine | undefined;
  addSpeaker({
    manager,
    client,
    log,
    node,
    namespace: loadbalancer.metallbNamespace,
    systemNamespace: namespace,
    ...(loadbalancer.lbClass !== undefined && { lbClass: loadbalancer.lbClass }),
    ignoreExclude: loadbalancer.ignoreExcludeLb ?? false,
    memory,
    drivers(callbacks) {
      const onMachine = { frr, node, hostOptions, loadbalancer, signingKey, log, ...(startFrr && { frrUp: () => ours.up() }) };
      machine = loadBalancerOnMachine(onMachine, callbacks);
      manager.add(machine.poll);
      return machine;
    },
    budget,
    events,
  });
  return {
    // Layer 2 addresses are announced with or without the API server.
    run: (signal) => Promise.all([machine?.l2.run(signal), startFrr && ours.run(signal)]),
    async restore(_signal, read) {
      const addresses = await memory.addresses();
      if (!read.aborted) machine?.l2.set(addresses);
      // FRR reads its last configuration when it starts.
      if (startFrr && (await memory.applied()).length > 0) await ours.up();
    },
    close: () => frr.router.close(),
  };
}

export interface Restorable {
  /** Restores the last applied state without the cluster. Stops when the caches are `read`: the normal pass continues then. */
  restore(signal: AbortSignal, read: AbortSignal): Promise<void>;
}

interface Options {
  /** How long to wait for the cluster; 0 if the API server is known to be unreachable. */
  afterMs: number;
  /** Aborts when all caches have been read once. */
  read: AbortSignal;
  log: Log;
}

/** Nothing can be decided before every cache has been read, so a partly answering API server counts as away. */
export async function restoreUnlessRead(parts: readonly Restorable[], { afterMs, read, log }: Options, signal: AbortSignal): Promise<void> {
  const either = AbortSignal.any([signal, read]);
  if (afterMs > 0) await sleep(afterMs, either).catch(() => undefined);
  if (either.aborted) return;
  log.warn({ afterMs }, "cannot read the cluster; restoring the last applied state");
  await Promise.all(parts.map((part) => restore(part, read, log, signal)));
}

async function restore(part: Restorable, read: AbortSignal, log: Log, signal: AbortSignal): Promise<void> {
  try {
    await part.restore(signal, read);
  } catch (error) {
    if (!signal.aborted) log.error({ error }, "cannot restore the last applied state without the API server");
  }
}

/** Documentation addresses: the route to them is the default route. */
const FAR = ["192.0.2.1", "2001:db8::1"];

/** Creates the Node of this machine, since there is no kubelet. Returns its name. */
export async function ensureOwnNode(client: KubeClient, signal: AbortSignal): Promise<string> {
  const name = hostname();
  const nodes = client.resource(Node);
  try {
    await nodes.get(name, { signal });
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    await nodes.create({ metadata: { name, labels: { "kubernetes.io/hostname": name } }, spec: {} }, { signal });
  }
  // A Node from a file keeps its fields, but its addresses are the machine's.
  const routes = await Promise.all(FAR.map((address) => routeTo(address, undefined, signal)));
  const addresses = routes.flatMap((route) =>
    route?.source === undefined ? [] : [{ type: "InternalIP" as const, address: route.source }],
  );
  await nodes.patchStatus({ name }, { status: { addresses: [{ type: "Hostname", address: name }, ...addresses] } }, { signal });
  return name;
}
