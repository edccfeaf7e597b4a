import { FailoverPolicy } from "../api/failover/failover-policy.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Manager } from "../kube/controller/manager.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { Log } from "../kube/log.ts";
import type { WriteBudget } from "../kube/status/budget.ts";
import { StatusWriter } from "../kube/status/status-writer.ts";
import { Peers } from "./token/peers.ts";
import { PolicyController } from "./policy-controller.ts";

export interface FailoverOptions {
  manager: Manager;
  /** Fenced where there is an election: everything here writes as leader. */
  client: KubeClient;
  log: Log;
  events: EventRecorder;
  budget: WriteBudget;
  /** The annotation by which external-dns is told which names are its own. */
  dnsAnnotation?: string;
  /** Namespaces whose policies may act in every namespace; `*` is all of them. */
  everywhere?: readonly string[];
  /** How long it is believed that the cluster does not serve a kind. */
  absentMs?: number;
}

/** Makes this cluster the primary or the secondary site of what policies name. */
export function addFailover({ manager, ...options }: FailoverOptions): void {
  const { client, log, budget } = options;
  const policies = manager.lateCache(FailoverPolicy);
  const writer = new StatusWriter<FailoverPolicy>({ kind: FailoverPolicy, client, cache: policies, budget, log });
  const peers = new Peers(client, { mustRead: true, uidOf: (key) => policies.get(key)?.metadata.uid });
  manager.add(new PolicyController({ ...options, policies, writer, peers }), { leaderOnly: true });
  manager.add(writer, { phase: "writers", leaderOnly: true });
}
