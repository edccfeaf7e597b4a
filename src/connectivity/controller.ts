import { ConnectivityMesh } from "../api/connectivity/connectivity-mesh.ts";
import { PodNetworkConnectivityCheck } from "../api/connectivity/pod-network-connectivity-check.ts";
import { Lease } from "../api/core/lease.ts";
import type { Node } from "../api/core/node.ts";
import type { Cache } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Manager } from "../kube/controller/manager.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { Log } from "../kube/log.ts";
import { AgentWatch } from "../kube/members/agent-watch.ts";
import type { WriteBudget } from "../kube/status/budget.ts";
import { StatusWriter } from "../kube/status/status-writer.ts";
import { stripCheck } from "./history/activity.ts";
import { LostLeases, sourceOfLease, sourceSelector } from "./source-lease.ts";
import type { AnnouncedCaches } from "./mesh/announcer-index.ts";
import { MeshController } from "./mesh/mesh-controller.ts";
import { Pruner } from "./pruner.ts";
import { StaleMarker } from "./stale-marker.ts";
import { sourceIndexes } from "./source-of-check.ts";

export interface ConnectivityOptions {
  manager: Manager;
  /** Fenced if there is an election. */
  client: KubeClient;
  log: Log;
  /** Plumbline's namespace: only there may nodes be sources. */
  namespace: string;
  /** With labels and internal addresses. */
  nodes: Cache<Node>;
  agents: AgentWatch;
  events: EventRecorder;
  budget: WriteBudget;
  /** What the load balancer announces, if there is one. */
  announced?: AnnouncedCaches;
  /** How long a probing pod may not renew its Lease. */
  silenceMs?: number;
}

/** Pods renew their Lease every minute. */
const SILENCE_MS = 180_000;

/** The controller's part of connectivity: meshes, stale sources and pruning. */
export function addConnectivity({ silenceMs = SILENCE_MS, ...options }: ConnectivityOptions): void {
  const { manager, client, log, namespace: systemNamespace, events, budget } = options;
  const meshes = manager.lateCache(ConnectivityMesh);
  const checks = manager.lateCache(PodNetworkConnectivityCheck, {
    transform: stripCheck,
    indexes: { namespace: ({ metadata }) => [metadata.namespace ?? ""], ...sourceIndexes(systemNamespace) },
  });
  const writer = new StatusWriter<ConnectivityMesh>({ kind: ConnectivityMesh, client, cache: meshes, budget, log });
  const meshController = new MeshController({ ...options, systemNamespace, meshes, checks, writer });
  manager.add(meshController, { leaderOnly: true });
  manager.add(writer, { phase: "writers", leaderOnly: true });

  const leases = manager.lateCache(Lease, { labelSelector: sourceSelector });
  const lost = new LostLeases(leases, (source) => checks.by("pod", source).length > 0);
  const pods = new AgentWatch({
    client,
    leases,
    holderOf: sourceOfLease,
    reported: () => lost.sources(),
    published: () => Promise.resolve(undefined),
    onDoubt: () => {},
    log,
    durationMs: silenceMs,
  });
  manager.add(pods, { leaderOnly: true });
  manager.add(new StaleMarker({ ...options, systemNamespace, checks, pods }), { leaderOnly: true });
  manager.add(new Pruner({ client, checks, events, log, systemNamespace, wants: (check) => meshController.wants(check) }), {
    leaderOnly: true,
  });
}
