import { isDeepStrictEqual } from "node:util";
import { CronJob } from "../../api/core/cron-job.ts";
import { Deployment } from "../../api/core/deployment.ts";
import type { HorizontalPodAutoscaler } from "../../api/core/horizontal-pod-autoscaler.ts";
import type { Job } from "../../api/core/job.ts";
import type { Namespace } from "../../api/core/namespace.ts";
import type { PersistentVolumeClaim } from "../../api/core/persistent-volume-claim.ts";
import type { Pod } from "../../api/core/pod.ts";
import { StatefulSet } from "../../api/core/stateful-set.ts";
import type { VolumeAttachment } from "../../api/core/volume-attachment.ts";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import {
  Application,
  ApplicationSet,
  type CSIDriver,
  HelmRelease,
  Kustomization,
  NetworkFence,
  ScaledObject,
  VirtualService,
  VolumeGroupReplication,
  VolumeReplication,
  type VolumeReplicationClass,
} from "../observe/external-kinds.ts";
import { managedBy } from "../policy/managed.ts";
import type { ReadResult, ManagedObjects, ObservedPolicy } from "../observe/observed.ts";
import { NOW } from "./fixtures.ts";
import type { PlannedWrite } from "../steps/step.ts";

const EXTERNAL = {
  VolumeGroupReplication,
  VolumeReplication,
  HelmRelease,
  Kustomization,
  Application,
  ApplicationSet,
  VirtualService,
  ScaledObject,
  NetworkFence,
};
const KINDS = { Deployment, StatefulSet, CronJob } as Record<string, Kind>;

interface Objects extends ManagedObjects {
  readonly Pod: Pod;
  readonly Job: Job;
  readonly PersistentVolumeClaim: PersistentVolumeClaim;
  readonly VolumeAttachment: VolumeAttachment;
  readonly HorizontalPodAutoscaler: HorizontalPodAutoscaler;
  readonly ScaledObject: ScaledObject;
  readonly ApplicationSet: ApplicationSet;
  readonly Namespace: Namespace;
  readonly VolumeReplicationClass: VolumeReplicationClass;
  readonly CSIDriver: CSIDriver;
  readonly NetworkFence: NetworkFence;
}
type Name = keyof Objects;

/** For tests: a cluster as a map of objects. What fails to be looked at is named `Pod shop` (a list) or `Deployment shop/web`. */
export class FakeSite {
  readonly objects = new Map<string, { kind: string; object: KubeObject }>();
  readonly errors = new Set<string>();
  readonly absentKinds = new Set<string>();
  now = NOW;
  #version = 1;

  put<K extends Name>(kind: K, ...objects: Objects[K][]): this {
    for (const object of objects) {
      this.objects.set(keyOf(kind, object), { kind, object: structuredClone(object) });
      if (kind === "VolumeReplication") this.#bind(object as VolumeReplication);
    }
    return this;
  }

  /** The claim of a volume, bound, unless there is one. */
  #bind({ metadata: { namespace = "" }, spec: { dataSource } }: VolumeReplication): void {
    const claim = { metadata: { name: dataSource.name, namespace }, spec: { volumeName: `pv-${dataSource.name}` } };
    if (!this.objects.has(keyOf("PersistentVolumeClaim", claim))) this.put("PersistentVolumeClaim", claim);
  }

  delete(kind: Name, name: string, namespace = "shop"): void {
    this.objects.delete(`${kind} ${namespace}/${name}`);
  }

  get<K extends Name>(kind: K, name: string, namespace = "shop"): Objects[K] {
    const entry = this.objects.get(`${kind} ${namespace}/${name}`);
    if (!entry) throw new Error(`no ${kind} ${namespace}/${name}`);
    return entry.object as Objects[K];
  }

  all<K extends Name>(kind: K): Objects[K][] {
    return [...this.objects.values()].filter((entry) => entry.kind === kind).map(({ object }) => object as Objects[K]);
  }

  /** As a person or a controller would edit it: the generation moves with the spec. */
  edit<K extends Name>(kind: K, object: Objects[K], change: (object: Objects[K]) => void): void {
    const next: Objects[K] = structuredClone(object);
    change(next);
    if (isDeepStrictEqual(next, object)) return;
    const { metadata } = next;
    metadata.resourceVersion = String(++this.#version);
    const specs = [object, next].map((one) => (one as { spec?: unknown }).spec);
    if (!isDeepStrictEqual(specs[0], specs[1])) metadata.generation = (metadata.generation ?? 0) + 1;
    this.objects.set(keyOf(kind, next), { kind, object: next });
  }

  write({ kind, object, patch, create }: PlannedWrite): void {
    const name = kind.kind as Name;
    if (create) {
      this.put(name, { ...object, metadata: { ...object.metadata, generation: 1, resourceVersion: "1" } });
      return;
    }
    const current = this.get(name, object.metadata.name, object.metadata.namespace);
    if (current.metadata.resourceVersion !== object.metadata.resourceVersion) return;
    this.edit(name, current, (next) => mergeInto(next as never, patch as never));
  }

  observe(policy: FailoverPolicy, rest: Partial<ObservedPolicy> = {}): ObservedPolicy {
    const list = <K extends Name>(kind: K, namespace?: string): ReadResult<readonly Objects[K][]> => {
      if (this.absentKinds.has(kind)) return { absent: "kind" };
      if (this.errors.has(namespace === undefined ? kind : `${kind} ${namespace}`))
        return { error: "the server is away", code: "Unreachable" };
      return { found: this.all(kind).filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace) };
    };
    return {
      policy,
      managed: managedBy(policy).managed,
      contested: [],
      read: ({ kind, namespace, name }) => {
        const key = `${kind} ${namespace}/${name}`;
        if (this.absentKinds.has(kind)) return { absent: "kind" };
        if (this.errors.has(key)) return { error: "the server is away", code: "Unreachable" };
        const entry = this.objects.get(key);
        return (entry ? { found: entry.object } : { absent: "object" }) as ReadResult<never>;
      },
      pods: (namespace) => list("Pod", namespace),
      jobs: (namespace) => list("Job", namespace),
      claims: (namespace) => list("PersistentVolumeClaim", namespace),
      autoscalers: (namespace) => list("HorizontalPodAutoscaler", namespace),
      scaledObjects: (namespace) => list("ScaledObject", namespace),
      applicationSets: (namespace) => list("ApplicationSet", namespace),
      replications: (namespace) => list("VolumeReplication", namespace),
      attachments: () => list("VolumeAttachment"),
      namespaces: () => list("Namespace"),
      replicationClasses: () => list("VolumeReplicationClass"),
      drivers: () => list("CSIDriver"),
      networkFences: () => list("NetworkFence"),
      kindOf: (kind) => KINDS[kind] ?? { ...EXTERNAL[kind as keyof typeof EXTERNAL], version: "v1" },
      now: this.now,
      ...rest,
    };
  }
}

function keyOf(kind: string, { metadata: { namespace = "", name } }: KubeObject): string {
  return `${kind} ${namespace}/${name}`;
}

type Tree = { [field: string]: unknown };

function mergeInto(target: Tree, patch: Tree): void {
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete target[field];
    else if (typeof value !== "object" || Array.isArray(value)) target[field] = value;
    else mergeInto((target[field] ??= {}) as Tree, value as Tree);
  }
}
