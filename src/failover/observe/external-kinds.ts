import type { LabelSelector } from "../../api/core/label-selector.ts";
import type { Condition, Kind, KubeObject } from "../../api/kind.ts";

/**
 * Kinds of other projects, as far as we read them. Which version a cluster serves is found out there, so these have none: a cluster without them
 * is no error for a policy that does not name any.
 */
export type ExternalKind<T extends KubeObject = KubeObject> = Omit<Kind<T>, "version"> & {
  /** What is taken where a cluster serves several, best first. */
  readonly versions: readonly string[];
};

/** csi-addons: the replication of one volume. */
export interface VolumeReplication extends KubeObject {
  spec: {
    volumeReplicationClass?: string;
    replicationState: "primary" | "secondary" | "resync";
    dataSource: { apiGroup?: string; kind: string; name: string };
    autoResync?: boolean;
  };
  status?: {
    state?: "Primary" | "Secondary" | "Unknown";
    message?: string;
    observedGeneration?: number;
    lastSyncTime?: string;
    conditions?: Condition[];
  };
}

/** csi-addons: the replication of several volumes as one. Its status is a copy that may be older than it says: see `volume-groups.ts`. */
export interface VolumeGroupReplication extends KubeObject {
  spec: {
    volumeReplicationClassName?: string;
    replicationState: "primary" | "secondary" | "resync";
    source: { selector?: LabelSelector };
    external?: boolean;
    /** Written by csi-addons. */
    volumeReplicationName?: string;
  };
  status?: { observedGeneration?: number; persistentVolumeClaimsRefList?: { name: string }[]; message?: string };
}

/** Flux: a HelmRelease or a Kustomization. */
export interface FluxObject extends KubeObject {
  spec: { suspend?: boolean };
  status?: { observedGeneration?: number; lastHandledReconcileAt?: string; lastHandledForceAt?: string; conditions?: Condition[] };
}

/** Argo CD: an application. Its kind has no generation in the status and no subresource for it. */
export interface Application extends KubeObject {
  spec: {
    syncPolicy?: { automated?: Automated; syncOptions?: string[] };
    ignoreDifferences?: {
      group?: string;
      kind: string;
      name?: string;
      namespace?: string;
      jsonPointers?: string[];
      jqPathExpressions?: string[];
    }[];
  };
  operation?: { sync?: { prune?: boolean; syncOptions?: string[] } };
  status?: {
    operationState?: { phase?: string; message?: string; finishedAt?: string };
    sync?: { status?: string };
    /** The start of the last comparison with Git; `sync` and `health` are at least as new. */
    reconciledAt?: string;
    health?: { status?: string; message?: string };
  };
}

/** Absent is not the same as empty: `{}` syncs by itself, and so does everything without `enabled: false`. */
export interface Automated {
  enabled?: boolean;
  prune?: boolean;
  selfHeal?: boolean;
  allowEmpty?: boolean;
}

/** Argo CD: what makes Applications from a template, and puts them back to it. */
export interface ApplicationSet extends KubeObject {
  spec: {
    syncPolicy?: { applicationsSync?: string };
    ignoreApplicationDifferences?: { name?: string; jsonPointers?: string[]; jqPathExpressions?: string[] }[];
    preservedFields?: { annotations?: string[] };
  };
}

/** csi-addons: addresses that the storage refuses. */
export interface NetworkFence extends KubeObject {
  spec: { networkFenceClassName?: string; fenceState?: "Fenced" | "Unfenced"; cidrs: string[] };
  status?: { result?: string; message?: string };
}

/** KEDA: what scales one workload. */
export interface ScaledObject extends KubeObject {
  spec: { scaleTargetRef: { apiVersion?: string; kind?: string; name: string } };
}

export const VolumeReplication: ExternalKind<VolumeReplication> = {
  group: "replication.storage.openshift.io",
  versions: ["v1alpha1"],
  kind: "VolumeReplication",
  plural: "volumereplications",
  scope: "Namespaced",
};

/** csi-addons: which driver replicates the volumes of a class. */
export interface VolumeReplicationClass extends KubeObject {
  spec: { provisioner: string };
}

export const VolumeReplicationClass: ExternalKind<VolumeReplicationClass> = {
  group: "replication.storage.openshift.io",
  versions: ["v1alpha1"],
  kind: "VolumeReplicationClass",
  plural: "volumereplicationclasses",
  scope: "Cluster",
};

/** Kubernetes' own, but not every API that we run on has it. */
export interface CSIDriver extends KubeObject {
  /** `attachRequired` false: the driver's volumes have no VolumeAttachments. */
  spec: { attachRequired?: boolean };
}

export const CSIDriver: ExternalKind<CSIDriver> = {
  group: "storage.k8s.io",
  versions: ["v1"],
  kind: "CSIDriver",
  plural: "csidrivers",
  scope: "Cluster",
};

export const NetworkFence: ExternalKind<NetworkFence> = {
  group: "csiaddons.openshift.io",
  versions: ["v1alpha1"],
  kind: "NetworkFence",
  plural: "networkfences",
  scope: "Cluster",
};

export const VolumeGroupReplication: ExternalKind<VolumeGroupReplication> = {
  group: "replication.storage.openshift.io",
  versions: ["v1alpha1"],
  kind: "VolumeGroupReplication",
  plural: "volumegroupreplications",
  scope: "Namespaced",
};

export const HelmRelease: ExternalKind<FluxObject> = {
  group: "helm.toolkit.fluxcd.io",
  versions: ["v2", "v2beta2", "v2beta1"],
  kind: "HelmRelease",
  plural: "helmreleases",
  scope: "Namespaced",
};

export const Kustomization: ExternalKind<FluxObject> = {
  group: "kustomize.toolkit.fluxcd.io",
  versions: ["v1", "v1beta2"],
  kind: "Kustomization",
  plural: "kustomizations",
  scope: "Namespaced",
};

export const Application: ExternalKind<Application> = {
  group: "argoproj.io",
  versions: ["v1alpha1"],
  kind: "Application",
  plural: "applications",
  scope: "Namespaced",
};

export const ApplicationSet: ExternalKind<ApplicationSet> = {
  group: "argoproj.io",
  versions: ["v1alpha1"],
  kind: "ApplicationSet",
  plural: "applicationsets",
  scope: "Namespaced",
};

export const VirtualService: ExternalKind = {
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  kind: "VirtualService",
  plural: "virtualservices",
  scope: "Namespaced",
};

export const ScaledObject: ExternalKind<ScaledObject> = {
  group: "keda.sh",
  versions: ["v1alpha1"],
  kind: "ScaledObject",
  plural: "scaledobjects",
  scope: "Namespaced",
};
