import type { CronJob } from "../../api/core/cron-job.ts";
import type { Deployment } from "../../api/core/deployment.ts";
import type { HorizontalPodAutoscaler } from "../../api/core/horizontal-pod-autoscaler.ts";
import type { Job } from "../../api/core/job.ts";
import type { Namespace } from "../../api/core/namespace.ts";
import type { PersistentVolumeClaim } from "../../api/core/persistent-volume-claim.ts";
import type { Pod } from "../../api/core/pod.ts";
import type { StatefulSet } from "../../api/core/stateful-set.ts";
import type { VolumeAttachment } from "../../api/core/volume-attachment.ts";
import type { FailoverPolicy, ManagedKind } from "../../api/failover/failover-policy.ts";
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

/**
 * What looking at something gave. `absent` is known: the cluster answered that there is none, or that it does not know the kind. `error` is not: it
 * may be there or not, and steps that depend on it wait.
 */
export type ReadResult<T> =
  | { readonly found: T }
  | { readonly absent: "object" | "kind" }
  | { readonly error: string; readonly code: "Forbidden" | "Unreachable" | "Failed" };

/** The objects of the kinds that can be managed, each as it is read. */
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

/** Everything that one pass over a policy knows. Plan is a function of this and nothing else. */
export interface ObservedPolicy {
  readonly policy: FailoverPolicy;
  /** What the policy names, in its order, each once. */
  readonly managed: readonly Managed[];
  /** Another policy that has an older claim on something of these, if there is one. */
  readonly contested: readonly { readonly resource: Managed; readonly holder: string }[];
  read<K extends ManagedKind>(resource: Managed & { readonly kind: K }): ReadResult<ManagedObjects[K]>;
  /** All of a namespace, terminating ones too. */
  pods(namespace: string): ReadResult<readonly Pod[]>;
  jobs(namespace: string): ReadResult<readonly Job[]>;
  claims(namespace: string): ReadResult<readonly PersistentVolumeClaim[]>;
  autoscalers(namespace: string): ReadResult<readonly HorizontalPodAutoscaler[]>;
  scaledObjects(namespace: string): ReadResult<readonly ScaledObject[]>;
  applicationSets(namespace: string): ReadResult<readonly ApplicationSet[]>;
  /** Those of groups are not named in the policy. */
  replications(namespace: string): ReadResult<readonly VolumeReplication[]>;
  attachments(): ReadResult<readonly VolumeAttachment[]>;
  /** Those of other namespaces that the policy names, at least. */
  namespaces(): ReadResult<readonly Namespace[]>;
  /** Policies of this namespace need no consent of others. */
  readonly actsEverywhere?: boolean;
  /** Whether the policy may fence addresses at the storage; not known to everyone who plans. */
  readonly mayFence?: boolean;
  replicationClasses(): ReadResult<readonly VolumeReplicationClass[]>;
  drivers(): ReadResult<readonly CSIDriver[]>;
  /** With `spec.fence`: all of them. */
  networkFences(): ReadResult<readonly NetworkFence[]>;
  /** The kind of a resource in the version that the cluster serves. */
  kindOf(kind: ManagedKind | "ScaledObject" | "NetworkFence"): Kind | undefined;
  /** A role that was applied from Git against a person's switch; `policy` asks for the person's. */
  readonly revert?: Revert;
  /** With `spec.peer` or a token: what the other site's policy was when it was last read, or why it could not be. */
  readonly peer?: PeerView;
  /** The annotation by which external-dns is told whether a VirtualService is its business; without it, the key of its old default prefix. */
  readonly dnsAnnotation?: string;
  readonly now: Date;
}
