import { setTimeout as sleep } from "node:timers/promises";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { accessAs, installIdentities } from "../../lab/kube/identities.ts";
import { silent } from "../../lab/progress.ts";
import { claimSpec, persistentVolume, statefulSet, volumeReplication } from "../../lab/sites/application.ts";
import { PersistentVolume, VolumeReplication } from "../../lab/sites/kinds.ts";
import { startSite } from "../../lab/sites/site.ts";
import { PersistentVolumeClaim } from "../../src/api/core/persistent-volume-claim.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { FailoverPolicy, type Role } from "../../src/api/failover/failover-policy.ts";
import type { Kind } from "../../src/api/kind.ts";
import { addFailover } from "../../src/failover/policy-controller.ts";
import type { ClusterAccess } from "../../src/kube/client/access.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { EventRecorder } from "../../src/kube/events/events.ts";
import { createLog } from "../../src/kube/log.ts";
import { WriteBudget } from "../../src/kube/status/budget.ts";
import { inArena } from "../bench-api-server.ts";

/** What our requests carry, and what the peer's do, so that the audit log tells them apart. */
export const [OURS, PEER] = ["failover-ours", "failover-polling"];

export interface BenchCluster {
  /** Of neither contestant. */
  readonly client: KubeClient;
  readonly access: ClusterAccess;
  readonly auditLog: string;
  readonly kubeconfig: string;
}

/** A site whose storage takes no time, neither to promote and demote nor to attach and detach, and whose pods end a quarter of a second after they are asked to, or later. */
export async function onSite<R>(work: (cluster: BenchCluster) => Promise<R>, podsEndMs = 250): Promise<R> {
  return await inArena({ audit: true }, async ({ server, kubeconfig }) => {
    const binaries = await kubeBinaries(silent);
    const settings = { name: "here", podsEndMs, attaches: false, inspects: false };
    const site = await startSite({ binaries, server, progress: silent, ...settings });
    try {
      await installIdentities(site.client, new AbortController().signal);
      return await work({
        client: site.client,
        access: await accessFromKubeconfig({ path: kubeconfig }),
        auditLog: server.auditLog,
        kubeconfig,
      });
    } finally {
      await site.stop();
    }
  });
}

export const nameOf = (n: number) => `part-${String(n).padStart(3, "0")}`;

/** A volume and the workload that has it. */
export async function createPart(
  { client }: Pick<BenchCluster, "client">,
  namespace: string,
  n: number,
  part: { role: Role; replicas: number },
): Promise<void> {
  const { signal } = new AbortController();
  const name = nameOf(n);
  const create = (kind: Kind, object: { metadata: { name: string }; spec: object }) =>
    client.resource(kind).create({ ...object, metadata: { namespace, ...object.metadata } }, { signal });
  await create(PersistentVolume, persistentVolume(namespace, name));
  await create(PersistentVolumeClaim, { metadata: { name }, spec: claimSpec() });
  await create(VolumeReplication, volumeReplication(name, part.role));
  await create(StatefulSet, statefulSet(name, { replicas: part.replicas, graceSeconds: 30, claim: name }));
}

export async function createPolicy(
  { client }: BenchCluster,
  namespace: string,
  name: string,
  role: Role,
  parts: readonly number[],
): Promise<void> {
  const { signal } = new AbortController();
  const managedResources = parts.flatMap((n) => [
    { kind: "VolumeReplication" as const, name: nameOf(n) },
    { kind: "StatefulSet" as const, name: nameOf(n) },
  ]);
  // The peer waits for no node either.
  const spec: FailoverPolicy["spec"] = { desiredState: role, managedResources, settleTime: "0s" };
  await client.resource(FailoverPolicy).create({ metadata: { name, namespace }, spec }, { signal });
}

/** Our controller, with nothing but this part of it, and with the rights of the chart. */
export function startOurs({ access }: BenchCluster): () => Promise<void> {
  const stop = new AbortController();
  const client = new KubeClient(accessAs("controller", access), { userAgent: OURS });
  const log = createLog({ level: "error" });
  const manager = new Manager({ client, log });
  const events = new EventRecorder({ client, component: "plumbline-controller", instance: "bench", log });
  addFailover(manager, { client, log, events, budget: new WriteBudget() });
  manager.add(events, { phase: "writers" });
  const ended = manager.run(stop.signal);
  return async () => {
    stop.abort();
    await ended;
  };
}

export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(25);
}
