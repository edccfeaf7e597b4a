import type { CronJob } from "../../api/core/cron-job.ts";
import type { Deployment } from "../../api/core/deployment.ts";
import type { HorizontalPodAutoscaler } from "../../api/core/horizontal-pod-autoscaler.ts";
import type { Job } from "../../api/core/job.ts";
import type { Pod } from "../../api/core/pod.ts";
import type { StatefulSet } from "../../api/core/stateful-set.ts";
import { FailoverPolicy, type FailoverStatus } from "../../api/failover/failover-policy.ts";
import { apiVersionOf, type Condition, type ObjectMeta } from "../../api/kind.ts";
import type {
  Application,
  Automated,
  FluxObject,
  ScaledObject,
  VolumeGroupReplication,
  VolumeReplication,
} from "../observe/external-kinds.ts";

/** For tests: objects as short as they can be said. */
export const NOW = new Date("2026-11-16T12:00:00.000Z");

type Spec = FailoverPolicy["spec"];
type Resources = NonNullable<Spec["managedResources"]>;

/** `["Deployment web", "VolumeReplication data"]` */
export function named(...resources: string[]): Resources {
  return resources.map((resource) => {
    const [kind = "", name = ""] = resource.split(" ");
    return { kind, name } as Resources[number];
  });
}

export function policy(
  spec: Partial<Spec> = {},
  { status, ...metadata }: Partial<ObjectMeta> & { status?: FailoverStatus } = {},
): FailoverPolicy {
  return {
    apiVersion: apiVersionOf(FailoverPolicy),
    kind: FailoverPolicy.kind,
    metadata: { name: "site", namespace: "shop", generation: 1, ...metadata },
    spec: { desiredState: "secondary", ...spec },
    ...(status && { status }),
  };
}

function meta(name: string, rest: Partial<ObjectMeta> = {}): ObjectMeta {
  return { name, namespace: "shop", uid: name, resourceVersion: "1", generation: 1, ...rest };
}

/** With `spec.replicas` of them running, and a status that says so. */
export function deployment(name: string, spec: Partial<Deployment["spec"]> = {}, metadata: Partial<ObjectMeta> = {}): Deployment {
  const replicas = spec.replicas ?? 1;
  const status = {
    observedGeneration: 1,
    replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    updatedReplicas: replicas,
  };
  return { metadata: meta(name, metadata), spec: { selector: { matchLabels: { app: name } }, ...spec }, status };
}

export function statefulSet(name: string, spec: Partial<StatefulSet["spec"]> = {}, metadata: Partial<ObjectMeta> = {}): StatefulSet {
  return deployment(name, spec, metadata);
}

export function cronJob(name: string, spec: Partial<CronJob["spec"]> = {}, metadata: Partial<ObjectMeta> = {}): CronJob {
  return { metadata: meta(name, metadata), spec: { schedule: "* * * * *", ...spec } };
}

export function job(name: string, cronJobName: string, spec: Partial<Job["spec"]> = {}, metadata: Partial<ObjectMeta> = {}): Job {
  const ownerReferences = [{ apiVersion: "batch/v1", kind: "CronJob", name: cronJobName, uid: cronJobName, controller: true }];
  return { metadata: meta(name, { ownerReferences, ...metadata }), spec, status: { active: 1 } };
}

export function flux(name: string, spec: FluxObject["spec"] = {}, metadata: Partial<ObjectMeta> = {}): FluxObject {
  return { metadata: meta(name, metadata), spec, status: { observedGeneration: 1, conditions: [condition("Ready", "True", "Succeeded")] } };
}

/** With this as `syncPolicy.automated`; none where it is undefined. */
export function application(name: string, automated: Automated | undefined, metadata: Partial<ObjectMeta> = {}): Application {
  return {
    metadata: meta(name, metadata),
    spec: automated ? { syncPolicy: { automated } } : {},
    status: { operationState: { phase: "Succeeded" } },
  };
}

export function autoscaler(name: string, target: string, spec: Partial<HorizontalPodAutoscaler["spec"]> = {}): HorizontalPodAutoscaler {
  const [kind = "", workload = ""] = target.split(" ");
  return { metadata: meta(name), spec: { scaleTargetRef: { kind, name: workload }, maxReplicas: 9, ...spec } };
}

export function scaledObject(name: string, target: string, metadata: Partial<ObjectMeta> = {}): ScaledObject {
  return { metadata: meta(name, metadata), spec: { scaleTargetRef: { name: target } } };
}

export function pod(
  name: string,
  { claim, labels, ...rest }: { claim?: string } & Partial<ObjectMeta> = {},
  phase: "Running" | "Succeeded" | "Failed" = "Running",
): Pod {
  return {
    metadata: meta(name, { ...rest, labels: labels ?? { app: name.replace(/-.*$/, "") } }),
    spec: {
      nodeName: "n1",
      containers: [],
      ...(claim !== undefined && { volumes: [{ name: "data", persistentVolumeClaim: { claimName: claim } }] }),
    },
    status: { phase },
  };
}

export function condition(type: string, status: Condition["status"], reason: string, observedGeneration = 1, message = ""): Condition {
  return { type, status, reason, message, lastTransitionTime: "2026-11-16T11:00:00Z", observedGeneration };
}

/** The rows of csi-addons' states, as `facts` has them. */
export const VOLUME_CONDITIONS = {
  promoted: [
    condition("Completed", "True", "Promoted"),
    condition("Degraded", "False", "Healthy"),
    condition("Resyncing", "False", "NotResyncing"),
  ],
  promoteFailed: [
    condition("Completed", "False", "FailedToPromote"),
    condition("Degraded", "True", "Error"),
    condition("Resyncing", "False", "NotResyncing"),
    condition("Validated", "True", "PrerequisiteMet"),
  ],
  justDemoted: [
    condition("Completed", "True", "Demoted"),
    condition("Degraded", "True", "VolumeDegraded"),
    condition("Resyncing", "False", "NotResyncing"),
  ],
  syncing: [
    condition("Completed", "True", "Demoted"),
    condition("Degraded", "True", "VolumeDegraded"),
    condition("Resyncing", "True", "ResyncTriggered"),
  ],
  inSync: [
    condition("Completed", "True", "Demoted"),
    condition("Degraded", "False", "Healthy"),
    condition("Resyncing", "False", "NotResyncing"),
  ],
  demoteFailed: [
    condition("Completed", "False", "FailedToDemote"),
    condition("Degraded", "True", "Error"),
    condition("Resyncing", "False", "NotResyncing"),
  ],
  resyncFailed: [
    condition("Completed", "False", "FailedToResync"),
    condition("Degraded", "True", "Error"),
    condition("Resyncing", "False", "FailedToResync"),
  ],
  /** csi-addons up to 0.14 does not write this one. */
  degradedPrimary: [
    condition("Completed", "True", "Promoted"),
    condition("Degraded", "True", "Error"),
    condition("Resyncing", "False", "NotResyncing"),
  ],
} as const satisfies Record<string, Condition[]>;

/** A group of claims that is asked to be this, and its VolumeReplication: as the group says, unless it lags behind. */
export function volumeGroup(
  name: string,
  replicationState: VolumeReplication["spec"]["replicationState"],
  {
    claims = [name],
    spec = {},
    of = replicationState,
  }: { claims?: string[]; spec?: Partial<VolumeGroupReplication["spec"]>; of?: typeof replicationState } = {},
): { group: VolumeGroupReplication; replication: VolumeReplication } {
  const own = `vr-${name}`;
  const annotations = { "replication.storage.openshift.io/volumegroupref": `shop/${name}` };
  return {
    group: {
      metadata: meta(name, { generation: 3 }),
      spec: { replicationState, source: { selector: { matchLabels: { group: name } } }, volumeReplicationName: own, ...spec },
      status: { observedGeneration: 3, persistentVolumeClaimsRefList: claims.map((claim) => ({ name: claim })) },
    },
    replication: {
      ...volume(own, of, { metadata: { annotations } }),
      spec: { replicationState: of, dataSource: { kind: "VolumeGroupReplication", name } },
    },
  };
}

export function volume(
  name: string,
  replicationState: VolumeReplication["spec"]["replicationState"],
  { conditions, metadata, status }: { conditions?: Condition[]; metadata?: Partial<ObjectMeta>; status?: VolumeReplication["status"] } = {},
): VolumeReplication {
  const isPrimary = replicationState === "primary";
  return {
    metadata: meta(name, metadata),
    spec: { replicationState, dataSource: { kind: "PersistentVolumeClaim", name } },
    status: {
      state: isPrimary ? "Primary" : "Secondary",
      observedGeneration: 1,
      conditions: conditions ?? [...VOLUME_CONDITIONS[isPrimary ? "promoted" : "inSync"]],
      ...status,
    },
  };
}
