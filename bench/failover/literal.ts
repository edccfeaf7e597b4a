import { setTimeout as sleep } from "node:timers/promises";
import { VolumeReplication } from "../../lab/sites/kinds.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import type { KubeObject } from "../../src/api/kind.ts";
import type { VolumeReplication as Replication } from "../../src/failover/external.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";

const { signal } = new AbortController();
const [WAIT_MS, REST_MS] = [5_000, 20_000];

interface Seen {
  readonly statefulSets: readonly StatefulSet[];
  readonly volumes: readonly Replication[];
}

/**
 * The flow of the spec to the letter, for StatefulSets and VolumeReplications: read each object, write what differs, one after the other, look again
 * in 5 s while something is waited for and in 20 s at rest. It keeps no memory of anything, and has no gates but the spec's.
 */
export class LiteralPolling {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #policy: string;

  constructor(client: KubeClient, namespace: string, policy: string) {
    this.#client = client;
    this.#namespace = namespace;
    this.#policy = policy;
  }

  /** From the moment that the policy has changed until the status says Complete. */
  async untilComplete(): Promise<void> {
    for (;;) {
      const requeueMs = await this.pass();
      if (requeueMs === undefined) return;
      await sleep(requeueMs);
    }
  }

  /** A reconcile of a policy that is where it should be, and whose status is written only if it says something new. */
  async look(): Promise<void> {
    const { spec } = await this.#client.resource(FailoverPolicy).get(this.#policy, { namespace: this.#namespace, signal });
    for (const { kind, name } of spec.managedResources ?? [])
      await this.#client
        .resource<KubeObject>(kind === "StatefulSet" ? StatefulSet : VolumeReplication)
        .get(name, { namespace: this.#namespace, signal });
  }

  /** One reconcile. Returns when the next one would be due, or nothing when all is as it should be. */
  async pass(): Promise<number | undefined> {
    const { spec } = await this.#client.resource(FailoverPolicy).get(this.#policy, { namespace: this.#namespace, signal });
    const named = (kind: string) => (spec.managedResources ?? []).filter((one) => one.kind === kind).map(({ name }) => name);
    const [statefulSets, volumes] = [named("StatefulSet"), named("VolumeReplication")];
    if (spec.desiredState === "secondary") {
      for (const name of statefulSets) await this.#scaleDown(name);
      const seen = await this.#look(statefulSets, volumes);
      await this.#tell(seen, false);
      if (!seen.statefulSets.every(isScaledDown)) return WAIT_MS;
    }
    for (const name of volumes) await this.#set(name, spec.desiredState);
    const seen = await this.#look(statefulSets, volumes);
    const complete = seen.volumes.every(({ status }) => status?.state?.toLowerCase() === spec.desiredState);
    await this.#tell(seen, complete);
    return complete ? undefined : spec.desiredState === "secondary" ? REST_MS : WAIT_MS;
  }

  async #scaleDown(name: string): Promise<void> {
    const statefulSets = this.#client.resource(StatefulSet);
    const { spec } = await statefulSets.get(name, { namespace: this.#namespace, signal });
    if (spec.replicas !== 0) await statefulSets.patch({ name, namespace: this.#namespace }, { spec: { replicas: 0 } }, { signal });
  }

  async #set(name: string, replicationState: "primary" | "secondary"): Promise<void> {
    const { spec } = await readVolume(this.#client, this.#namespace, name);
    if (spec.replicationState === replicationState) return;
    await this.#client.resource(VolumeReplication).patch({ name, namespace: this.#namespace }, { spec: { replicationState } }, { signal });
  }

  async #look(statefulSets: readonly string[], volumes: readonly string[]): Promise<Seen> {
    const seen: { statefulSets: StatefulSet[]; volumes: Replication[] } = { statefulSets: [], volumes: [] };
    for (const name of statefulSets)
      seen.statefulSets.push(await this.#client.resource(StatefulSet).get(name, { namespace: this.#namespace, signal }));
    for (const name of volumes) seen.volumes.push(await readVolume(this.#client, this.#namespace, name));
    return seen;
  }

  async #tell({ statefulSets, volumes }: Seen, complete: boolean): Promise<void> {
    const now = new Date().toISOString();
    const status = {
      workloadStatuses: statefulSets.map((one) => ({
        kind: "StatefulSet" as const,
        name: one.metadata.name,
        state: isScaledDown(one) ? "Scaled Down" : "Scaling Down",
        lastUpdateTime: now,
      })),
      volumeReplicationStatuses: volumes.map(({ metadata, status }) => ({
        name: metadata.name,
        state: status?.state ?? "",
        lastUpdateTime: now,
      })),
      workloadStatus: complete ? "complete" : "in progress",
    };
    await this.#client.resource(FailoverPolicy).patchStatus({ name: this.#policy, namespace: this.#namespace }, { status }, { signal });
  }
}

function readVolume(client: KubeClient, namespace: string, name: string) {
  return client.resource(VolumeReplication).get(name, { namespace, signal });
}

function isScaledDown({ spec, status }: StatefulSet): boolean {
  const { replicas = 0, availableReplicas = 0, readyReplicas = 0, updatedReplicas = 0 } = status ?? {};
  return spec.replicas === 0 && replicas + availableReplicas + readyReplicas + updatedReplicas === 0;
}
