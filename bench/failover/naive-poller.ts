import { setTimeout as sleep } from "node:timers/promises";
import { VolumeReplication } from "../../lab/sites/kinds.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { FailoverPolicy, type FailoverStatus, type Role } from "../../src/api/failover/failover-policy.ts";
import type { VolumeReplication as Replication } from "../../src/failover/observe/external-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";

const { signal } = new AbortController();

/** When the next pass is due: while something is waited for, and otherwise. */
export interface PollIntervals {
  readonly waitMs: number;
  readonly restMs: number;
}

export const SPEC_INTERVALS: PollIntervals = { waitMs: 5_000, restMs: 20_000 };

/**
 * The flow of the spec to the letter, for StatefulSets and VolumeReplications: a pass reads each object, writes what differs, one after the other,
 * and goes by what it has read; the next one is due in 5 s while something is waited for, and in 20 s otherwise, unless told to poll faster. It keeps no memory of anything, and
 * has no gates but the spec's.
 */
export class LiteralPolling {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #policy: string;
  readonly #intervals: PollIntervals;

  constructor(client: KubeClient, namespace: string, policy: string, intervals: PollIntervals) {
    this.#client = client;
    this.#namespace = namespace;
    this.#policy = policy;
    this.#intervals = intervals;
  }

  /** From the moment that the policy has changed until the status says Complete. */
  async untilComplete(): Promise<void> {
    for (;;) {
      const requeueMs = await this.pass();
      if (requeueMs === undefined) return;
      await sleep(requeueMs);
    }
  }

  /** Brings the workloads back, as Flux would at once, and polls until they are available. The spec ends before that. */
  async untilAvailable(): Promise<void> {
    const { spec } = await this.#client.resource(FailoverPolicy).get(this.#policy, { namespace: this.#namespace, signal });
    const names = (spec.managedResources ?? []).filter(({ kind }) => kind === "StatefulSet").map(({ name }) => name);
    for (;;) {
      const read: StatefulSet[] = [];
      for (const name of names) read.push(await this.#scaled(name, 1));
      if (read.every(isAvailable)) return;
      await sleep(this.#intervals.waitMs);
    }
  }

  /** One reconcile. Returns when the next one is due, or nothing when all was as it should be. */
  async pass(): Promise<number | undefined> {
    const { spec, status } = await this.#client.resource(FailoverPolicy).get(this.#policy, { namespace: this.#namespace, signal });
    const named = (kind: string) => (spec.managedResources ?? []).filter((one) => one.kind === kind).map(({ name }) => name);
    const toSecondary = spec.desiredState === "secondary";
    const statefulSets: StatefulSet[] = [];
    for (const name of toSecondary ? named("StatefulSet") : []) statefulSets.push(await this.#scaled(name, 0));
    if (!statefulSets.every(isScaledDown)) {
      await this.#report(status, statefulSets, []);
      return this.#intervals.waitMs;
    }
    const volumes: Replication[] = [];
    for (const name of named("VolumeReplication")) volumes.push(await this.#set(name, spec.desiredState));
    const complete = volumes.every(({ status }) => status?.state?.toLowerCase() === spec.desiredState);
    await this.#report(status, statefulSets, volumes);
    return complete ? undefined : toSecondary ? this.#intervals.restMs : this.#intervals.waitMs;
  }

  /** As it was read. */
  async #scaled(name: string, replicas: number): Promise<StatefulSet> {
    const all = this.#client.resource(StatefulSet);
    const read = await all.get(name, { namespace: this.#namespace, signal });
    if (read.spec.replicas !== replicas) await all.patch({ name, namespace: this.#namespace }, { spec: { replicas } }, { signal });
    return read;
  }

  /** As it was read. */
  async #set(name: string, replicationState: Role): Promise<Replication> {
    const all = this.#client.resource(VolumeReplication);
    const read = await all.get(name, { namespace: this.#namespace, signal });
    if (read.spec.replicationState !== replicationState)
      await all.patch({ name, namespace: this.#namespace }, { spec: { replicationState } }, { signal });
    return read;
  }

  /** Only what is new is written. */
  async #report(
    existing: FailoverStatus | undefined,
    statefulSets: readonly StatefulSet[],
    volumes: readonly Replication[],
  ): Promise<void> {
    const status = {
      workloadStatuses: statefulSets.map((one) => ({
        kind: "StatefulSet" as const,
        name: one.metadata.name,
        state: isScaledDown(one) ? "Scaled Down" : "Scaling Down",
      })),
      volumeReplicationStatuses: volumes.map(({ metadata, status }) => ({ name: metadata.name, state: status?.state ?? "" })),
    };
    if (
      isReported(existing?.workloadStatuses, status.workloadStatuses) &&
      isReported(existing?.volumeReplicationStatuses, status.volumeReplicationStatuses)
    )
      return;
    const policies = this.#client.resource(FailoverPolicy);
    await policies.patchStatus({ name: this.#policy, namespace: this.#namespace }, { status }, { signal });
  }
}

interface Named {
  readonly name: string;
  readonly state?: string;
}

function isReported(existing: readonly Named[] = [], now: readonly Named[]): boolean {
  const states = new Map(existing.map(({ name, state }) => [name, state]));
  return now.every(({ name, state }) => states.get(name) === state);
}

function isScaledDown({ spec, status }: StatefulSet): boolean {
  const { replicas = 0, availableReplicas = 0, readyReplicas = 0, updatedReplicas = 0 } = status ?? {};
  return spec.replicas === 0 && replicas + availableReplicas + readyReplicas + updatedReplicas === 0;
}

function isAvailable({ metadata, spec, status }: StatefulSet): boolean {
  return status?.observedGeneration === metadata.generation && (spec.replicas ?? 0) > 0 && status?.availableReplicas === spec.replicas;
}
