import { CronJob } from "../../api/core/cron-job.ts";
import { Deployment } from "../../api/core/deployment.ts";
import { HorizontalPodAutoscaler } from "../../api/core/horizontal-pod-autoscaler.ts";
import { Job } from "../../api/core/job.ts";
import { Namespace } from "../../api/core/namespace.ts";
import { PersistentVolumeClaim } from "../../api/core/persistent-volume-claim.ts";
import { Pod } from "../../api/core/pod.ts";
import { StatefulSet } from "../../api/core/stateful-set.ts";
import { VolumeAttachment } from "../../api/core/volume-attachment.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { NO_NAMESPACE, type WatchedKind } from "./watched-kinds.ts";
import type { ReadResult, ObservedPolicy } from "./observed.ts";
import { type ExternalName, isExternal, type ServedKinds } from "./served-kinds.ts";

export interface ResourceReader {
  object(kind: WatchedKind, namespace: string, name: string): ReadResult<KubeObject>;
  all(kind: WatchedKind, namespace: string): ReadResult<readonly KubeObject[]>;
}

const BUILT_IN: Record<Exclude<WatchedKind, ExternalName>, Kind> = {
  Deployment,
  StatefulSet,
  CronJob,
  Pod,
  Job,
  PersistentVolumeClaim,
  HorizontalPodAutoscaler,
  VolumeAttachment,
  Namespace,
};

/** The kind in the version that the cluster serves. */
export function servedKind(kind: WatchedKind, served: ServedKinds): ReadResult<Kind> {
  return isExternal(kind) ? served.lookup(kind) : { found: BUILT_IN[kind] };
}

export type KnownOfPolicy = Pick<
  ObservedPolicy,
  "policy" | "managed" | "contested" | "revert" | "peer" | "dnsAnnotation" | "actsEverywhere" | "mayFence" | "now"
>;

export function observePolicy(reader: ResourceReader, served: ServedKinds, rest: KnownOfPolicy): ObservedPolicy {
  const all = <T>(kind: WatchedKind, namespace: string) => reader.all(kind, namespace) as ReadResult<readonly T[]>;
  return {
    ...rest,
    read: ({ kind, namespace, name }) => reader.object(kind, namespace, name) as ReadResult<never>,
    pods: (namespace) => all("Pod", namespace),
    jobs: (namespace) => all("Job", namespace),
    claims: (namespace) => all("PersistentVolumeClaim", namespace),
    autoscalers: (namespace) => all("HorizontalPodAutoscaler", namespace),
    scaledObjects: (namespace) => all("ScaledObject", namespace),
    applicationSets: (namespace) => all("ApplicationSet", namespace),
    replications: (namespace) => all("VolumeReplication", namespace),
    attachments: () => all("VolumeAttachment", NO_NAMESPACE),
    namespaces: () => (rest.actsEverywhere ? { found: [] } : all("Namespace", NO_NAMESPACE)),
    replicationClasses: () => all("VolumeReplicationClass", NO_NAMESPACE),
    drivers: () => all("CSIDriver", NO_NAMESPACE),
    networkFences: () => all("NetworkFence", NO_NAMESPACE),
    kindOf(kind) {
      const result = servedKind(kind, served);
      return "found" in result ? result.found : undefined;
    },
  };
}
