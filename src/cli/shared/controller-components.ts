import { hostname } from "node:os";
import { ConfigMap } from "../../api/core/config-map.ts";
import { DaemonSet } from "../../api/core/daemon-set.ts";
import { Lease } from "../../api/core/lease.ts";
import { Node } from "../../api/core/node.ts";
import { Pod } from "../../api/core/pod.ts";
import { Service } from "../../api/core/service.ts";
import type { Kind } from "../../api/kind.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { L2VNI } from "../../api/openpe/l2vni.ts";
import { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../../api/openpe/underlay.ts";
import { addConnectivity } from "../../connectivity/controller.ts";
import { addFailover } from "../../failover/policy-controller.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { EventRecorder } from "../../kube/events/events.ts";
import type { Log } from "../../kube/log.ts";
import { agentSelector, nodeOfLease } from "../../kube/members/agent-lease.ts";
import { AgentPods } from "../../kube/members/agent-pods.ts";
import { AgentWatch } from "../../kube/members/agent-watch.ts";
import { statusCleaner, reportedNodes, type ReportedKind } from "../../kube/members/status-cleaner.ts";
import { MembersError, membersName, parseMembers } from "../../kube/members/members.ts";
import { membersPublisher } from "../../kube/members/members-publisher.ts";
import { WriteBudget } from "../../kube/status/budget.ts";
import { addLoadBalancer } from "../../loadbalancer/controller/controller.ts";
import { speakerReports } from "../../loadbalancer/status/status-kinds.ts";
import { routerClaims } from "../../router/claims/claims-recorder.ts";
import { nodeIndexOf, nodeIndexWriter } from "../../router/node-index.ts";
import { configurationWarnings } from "../../router/configuration-warnings.ts";
import { overlayPublisher } from "../../router/overlay-publisher.ts";
import { unknownRouter } from "../../router/report.ts";

export interface ControllerComponentsOptions {
  manager: Manager;
  /** Fenced if there is an election: everything here writes as the leader. */
  client: KubeClient;
  log: Log;
  namespace: string;
  routerNamespace: string;
  /** Unset if there is no load balancer. */
  loadBalancer?: { namespace: string; lbClass?: string; ignoreExcludeLb?: boolean };
  failover?: boolean;
  /** Namespaces whose FailoverPolicies may name resources in every namespace; `*` is all of them. */
  failoverNamespaces?: readonly string[];
  /** The annotation with which external-dns marks the names that it owns. */
  dnsAnnotation?: string;
  /** The DaemonSet of the agents. If unset, only the deletion of a Node removes the reports of its agent. */
  agents?: string;
  /** Resolves when no write of an earlier leader can arrive any more. */
  waitForOldWrites: (signal: AbortSignal) => Promise<void>;
  silenceMs?: number;
}

const ofEveryNode = new Set<Kind>([RouterNodeConfigurationStatus, ConfigurationState]);

export function addControllerComponents({
  manager,
  client,
  log,
  namespace,
  waitForOldWrites,
  ...options
}: ControllerComponentsOptions): void {
  const events = new EventRecorder({ client, component: "plumbline-controller", instance: hostname(), log });
  const leases = manager.cache(Lease, { namespace, labelSelector: agentSelector });
  const nodes = manager.cache(Node, { transform: stripNodeStatus });
  const members = manager.cache(ConfigMap, { namespace, fieldSelector: `metadata.name=${membersName}` });
  const inRouters = { namespace: options.routerNamespace };
  const reports = manager.cache(RouterNodeConfigurationStatus, inRouters);
  const speakers = options.loadBalancer && speakerReports(manager, options.loadBalancer.namespace);
  const kinds: ReportedKind[] = [reportedByRouters(reports), ...(speakers?.kinds ?? [])];

  const agents = new AgentWatch({
    client,
    leases,
    holderOf: nodeOfLease,
    // Every node that reports anything reports its configuration.
    reported: () => reportedNodes(kinds.filter(({ kind }) => ofEveryNode.has(kind))),
    published: (signal) => lastPublished(client, namespace, signal),
    onDoubt: ({ expired, of }) =>
      events.record(
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: membersName, namespace } },
        {
          type: "Warning",
          reason: "ManyAgentsNotReporting",
          message: `${expired} of ${of} agents stopped reporting at once; checking again before marking them Unknown`,
        },
      ),
    log,
    ...(options.silenceMs === undefined ? {} : { durationMs: options.silenceMs }),
  });

  const pods = options.agents === undefined ? {} : { pods: agentPods(manager, client, namespace, options.agents) };
  const parts = { client, namespace, agents, nodes, log };
  const budget = new WriteBudget();
  manager.add(agents, { leaderOnly: true });
  manager.add(membersPublisher({ ...parts, leases, members, carriedIndex: nodeIndexOf, waitForOldWrites }), { leaderOnly: true });
  manager.add(statusCleaner({ ...parts, kinds, leases, budget, ...pods }), { leaderOnly: true });
  const underlays = manager.cache(Underlay, inRouters);
  const l3vnis = manager.cache(L3VNI, inRouters);
  const l2vnis = manager.cache(L2VNI, inRouters);
  const passthroughs = manager.cache(L3Passthrough, inRouters);
  const recorder = routerClaims({
    client,
    underlays,
    l2vnis,
    l3vnis,
    passthroughs,
    reports,
    nodes,
    budget,
    log,
  });
  manager.add(recorder, { leaderOnly: true });
  manager.add(configurationWarnings({ underlays, l2vnis, l3vnis, passthroughs, events, log }), { leaderOnly: true });
  manager.add(nodeIndexWriter({ client, namespace, nodes, members, log }), { leaderOnly: true });
  manager.add(overlayPublisher({ client, namespace, reports, members, log }), { leaderOnly: true });
  if (options.loadBalancer && speakers) {
    const { namespace: metallbNamespace, lbClass, ignoreExcludeLb: ignoreExclude = false } = options.loadBalancer;
    const { states, l2: l2Reports, bgp: bgpReports, sessions } = speakers;
    const reported = { states, l2Reports, bgpReports, sessions, routers: { passthroughs, l3vnis, reports } };
    addLoadBalancer({ ...parts, ...reported, manager, metallbNamespace, lbClass, ignoreExclude, events, budget, waitForOldWrites });
  }
  addConnectivity({
    ...parts,
    manager,
    events,
    budget,
    // The load balancer reads the same.
    ...(speakers && { announced: { services: manager.cache(Service), reports: speakers.bgp } }),
    ...(options.silenceMs !== undefined && { silenceMs: options.silenceMs }),
  });
  if (options.failover !== false)
    addFailover(manager, {
      client,
      log,
      events,
      budget,
      ...(options.dnsAnnotation !== undefined && { dnsAnnotation: options.dnsAnnotation }),
      ...(options.failoverNamespaces && { everywhere: options.failoverNamespaces }),
    });
  manager.add(events, { phase: "writers", leaderOnly: true });
}

function reportedByRouters(cache: Cache<RouterNodeConfigurationStatus>): ReportedKind<RouterNodeConfigurationStatus> {
  return {
    kind: RouterNodeConfigurationStatus,
    cache,
    nodeOf: (status) => status.metadata.name,
    part: "router",
    unknown: unknownRouter,
  };
}

function agentPods(manager: Manager, client: KubeClient, namespace: string, name: string): AgentPods {
  const daemonSets = manager.cache(DaemonSet, { namespace, fieldSelector: `metadata.name=${name}` });
  return new AgentPods({ client, namespace, name, daemonSets, pods: manager.cache(Pod, { namespace }) });
}

/** Uncached: a new leader must not decide on an old cache. */
async function lastPublished(client: KubeClient, namespace: string, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
  try {
    return new Set(parseMembers(await client.resource(ConfigMap).get(membersName, { namespace, signal })).live);
  } catch (error) {
    // A broken one says as little as a missing one; the publisher reports it.
    if (isKubeError(error, "NotFound") || error instanceof MembersError) return undefined;
    throw error;
  }
}

/** Drops the fields of a Node's status that change often and are not read here. */
export function stripNodeStatus(node: Node): Node {
  const conditions = (node.status?.conditions ?? []).flatMap(({ type, status, ...rest }) => {
    if (type === "NetworkUnavailable") return [{ type, status }];
    const { reason, message, lastTransitionTime } = rest;
    const since = { ...(reason && { reason }), ...(message && { message }), ...(lastTransitionTime && { lastTransitionTime }) };
    return type === "Ready" ? [{ type, status, ...since }] : [];
  });
  const addresses = node.status?.addresses;
  return { ...node, status: { conditions, ...(addresses && { addresses }) } };
}
