import type { CronJob } from "../../api/core/cron-job.ts";
import type { Deployment } from "../../api/core/deployment.ts";
import type { HorizontalPodAutoscaler } from "../../api/core/horizontal-pod-autoscaler.ts";
import type { Job } from "../../api/core/job.ts";
import type { PersistentVolumeClaim } from "../../api/core/persistent-volume-claim.ts";
import type { Pod } from "../../api/core/pod.ts";
import type { StatefulSet } from "../../api/core/stateful-set.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { Application, FluxObject } from "./external-kinds.ts";
import type { WatchedKind } from "./watched-kinds.ts";

/** Keeps the fields that plans use: templates, values and routes are large. Writes are planned on complete objects. */
export function stripObject(kind: WatchedKind): (object: KubeObject) => KubeObject {
  return ((STRIP as Partial<Record<WatchedKind, unknown>>)[kind] as typeof whole | undefined) ?? whole;
}

const whole = (object: KubeObject): KubeObject => object;

const STRIP = {
  Pod: ({ metadata, spec, status }: Pod): Pod => ({
    metadata,
    spec: {
      ...only(spec, "nodeName", "terminationGracePeriodSeconds"),
      ...(spec.volumes && { volumes: spec.volumes.filter((volume) => volume.persistentVolumeClaim ?? volume.ephemeral) }),
      containers: [],
    },
    status: { ...only(status ?? {}, "phase", "reason") },
  }),
  Deployment: ({ metadata, spec, status }: Deployment): Deployment => ({
    metadata,
    spec: { selector: spec.selector, ...only(spec, "replicas", "paused") },
    ...(status && {
      status: only(
        status,
        "observedGeneration",
        "replicas",
        "readyReplicas",
        "availableReplicas",
        "updatedReplicas",
        "terminatingReplicas",
      ),
    }),
  }),
  StatefulSet: ({ metadata, spec, status }: StatefulSet): StatefulSet => ({
    metadata,
    spec: {
      selector: spec.selector,
      ...only(spec, "replicas", "podManagementPolicy", "persistentVolumeClaimRetentionPolicy"),
      ...(spec.volumeClaimTemplates && {
        volumeClaimTemplates: spec.volumeClaimTemplates.map(({ metadata: { name } }) => ({ metadata: { name } })),
      }),
    },
    ...(status && { status }),
  }),
  CronJob: ({ metadata, spec, status }: CronJob): CronJob => ({
    metadata,
    spec: { schedule: spec.schedule, ...only(spec, "suspend") },
    ...(status?.active && { status: { active: status.active } }),
  }),
  Job: ({ metadata, spec, status }: Job): Job => ({ metadata, spec: only(spec, "suspend", "selector"), ...(status && { status }) }),
  PersistentVolumeClaim: ({ metadata, spec, status }: PersistentVolumeClaim): PersistentVolumeClaim => ({
    metadata,
    spec: only(spec, "volumeName"),
    ...(status?.phase && { status: { phase: status.phase } }),
  }),
  HorizontalPodAutoscaler: ({ metadata, spec }: HorizontalPodAutoscaler): HorizontalPodAutoscaler => ({ metadata, spec }),
  VirtualService: ({ metadata }: KubeObject): KubeObject => ({ metadata }),
  Namespace: ({ metadata }: KubeObject): KubeObject => ({ metadata }),
  HelmRelease: stripFlux,
  Kustomization: stripFlux,
  Application: ({ metadata, spec, operation, status }: Application): Application => ({
    metadata,
    spec: only(spec, "syncPolicy", "ignoreDifferences"),
    ...(operation && { operation: {} }),
    ...(status && {
      status: {
        ...(status.operationState && { operationState: only(status.operationState, "phase", "message", "finishedAt") }),
        ...(status.sync && { sync: only(status.sync, "status") }),
        ...only(status, "reconciledAt"),
        ...(status.health && { health: only(status.health, "status", "message") }),
      },
    }),
  }),
};

function stripFlux({ metadata, spec, status }: FluxObject): FluxObject {
  const fields = ["observedGeneration", "lastHandledReconcileAt", "lastHandledForceAt", "conditions"] as const;
  return { metadata, spec: only(spec, "suspend"), ...(status && { status: only(status, ...fields) }) };
}

function only<T extends object, K extends keyof T>(object: T, ...fields: readonly K[]): Pick<T, K> {
  return Object.fromEntries(fields.filter((field) => field in object).map((field) => [field, object[field]])) as Pick<T, K>;
}
