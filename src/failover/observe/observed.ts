import type { CronJob } from "../../api/core/cron-job.ts";
import type { Deployment } from "../../api/core/deployment.ts";
import type { HorizontalPodAutoscaler } from "../../api/core/horizontal-pod-autoscaler.ts";
import type { Job } from "../../api/core/job.ts";
import type { Namespace } from "../../api/core/namespace.ts";
import type { PersistentVolumeClaim } from "../../api/core/persistent-volume-claim.ts";
import type { Pod } from "../../api/core/pod.ts";
import type { StatefulSet } from "../../api/core/stateful-set.ts";
import type { VolumeAttachment } from "../../api/core/volume-attachment.ts";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { ManagedKind } from "../../api/failover/policy-fields.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type {
  Application,
  ApplicationSet,
  CSIDriver,
  FluxObject,
  NetworkFence,
  ScaledObject,
  VolumeGroupReplication,
  VolumeReplication,
  VolumeReplicationClass,
} from "./external-kinds.ts";
import type { Managed } from "../policy/managed.ts";
import type { Revert } from "../policy/switch-record.ts";
import type { PeerView } from "../token/token.ts";

/** `absent`: the cluster answered that there is none, or that it does not know the kind. `error`: unknown, and dependent steps wait. */
export type ReadResult<T> =
  | { readonly found: T }
  | { readonly absent: "object" | "kind" }
  | { readonly error: string; readonly code: "Forbidden" | "Unreachable" | "Failed" };

export interface ManagedObjects {
  readonly VolumeReplication: VolumeReplication;
  readonly Deployment: Deployment;
  readonly StatefulSet: StatefulSet;
  readonly CronJob: CronJob;
  readonly VirtualService: KubeObject;
  readonly HelmRelease: FluxObject;
  readonly Kustomization: FluxObject;
  readonly Application: Application;
  readonly VolumeGroupReplication: VolumeGroupReplication;
}

/** Everything that one pass knows of a policy: the only input of the plan. */
export interface ObservedPolicy {
  readonly policy: FailoverPolicy;
  /** In the order of the policy, without duplicates. */
  readonly managed: readonly Managed[];
  /** Resources with an older claim of another policy. */
  readonly contested: readonly { readonly resource: Managed; readonly holder: string }[];
  read<K extends ManagedKind>(resource: Managed & { readonly kind: K }): ReadResult<ManagedObjects[K]>;
  /** All pods of a namespace, terminating ones included. */
  pods(namespace: string): ReadResult<readonly Pod[]>;
  jobs(namespace: string): ReadResult<readonly Job[]>;
  claims(namespace: string): ReadResult<readonly PersistentVolumeClaim[]>;
  autoscalers(namespace: string): ReadResult<readonly HorizontalPodAutoscaler[]>;
  scaledObjects(namespace: string): ReadResult<readonly ScaledObject[]>;
  applicationSets(namespace: string): ReadResult<readonly ApplicationSet[]>;
  /** VolumeReplications of groups are not named in the policy. */
  replications(namespace: string): ReadResult<readonly VolumeReplication[]>;
  attachments(): ReadResult<readonly VolumeAttachment[]>;
  /** At least the other namespaces that the policy names. */
  namespaces(): ReadResult<readonly Namespace[]>;
  /** Whether policies of this namespace need no consent. */
  readonly actsEverywhere?: boolean;
  /** Whether the policy may fence addresses at the storage; not known to every caller. */
  readonly mayFence?: boolean;
  replicationClasses(): ReadResult<readonly VolumeReplicationClass[]>;
  drivers(): ReadResult<readonly CSIDriver[]>;
  /** With `spec.fence`, all of them. */
  networkFences(): ReadResult<readonly NetworkFence[]>;
  /** The kind of a resource in the version that the cluster serves. */
  kindOf(kind: ManagedKind | "ScaledObject" | "NetworkFence"): Kind | undefined;
  /** Set if Git applied another role after a person's switch; `policy` has the person's. */
  readonly revert?: Revert;
  /** With `spec.peer` or a token: the last read of the other site's policy, or its error. */
  readonly peer?: PeerView;
  /** The annotation that tells external-dns whether a VirtualService is its own; defaults to the key with the old prefix. */
  readonly dnsAnnotation?: string;
  readonly now: Date;
}
