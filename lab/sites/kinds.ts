import { CronJob } from "../../src/api/core/cron-job.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { apiVersionOf, builtinKind, type Kind, type KubeObject } from "../../src/api/kind.ts";
import * as external from "../../src/failover/observe/external-kinds.ts";

/** The external kinds in the version that is newest in the sites' definitions. */
function served<T extends KubeObject>({ versions, ...kind }: external.ExternalKind<T>): Kind<T> {
  return { ...kind, version: versions[0] ?? "" };
}

export const VolumeReplication = served(external.VolumeReplication);
export const NetworkFence = served(external.NetworkFence);
export const HelmRelease = served(external.HelmRelease);
export const Kustomization = served(external.Kustomization);
export const VirtualService = served(external.VirtualService);
export const ScaledObject = served(external.ScaledObject);

export const PersistentVolume = builtinKind({
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  scope: "Cluster",
});

/** The class of the sites' volumes, and of their replication. */
export const STORAGE_CLASS = "replicated";

export const VolumeReplicationClass = builtinKind({
  group: "replication.storage.openshift.io",
  version: "v1alpha1",
  kind: "VolumeReplicationClass",
  plural: "volumereplicationclasses",
  scope: "Cluster",
});

interface DriverConnection extends KubeObject {
  status?: { state?: string };
}

/** Where csi-addons finds a driver. */
export const CSIAddonsNode = builtinKind<DriverConnection>({
  group: "csiaddons.openshift.io",
  version: "v1alpha1",
  kind: "CSIAddonsNode",
  plural: "csiaddonsnodes",
  scope: "Namespaced",
});

export const NetworkFenceClass = builtinKind({
  group: "csiaddons.openshift.io",
  version: "v1alpha1",
  kind: "NetworkFenceClass",
  plural: "networkfenceclasses",
  scope: "Cluster",
});

export const StorageClass = builtinKind({
  group: "storage.k8s.io",
  version: "v1",
  kind: "StorageClass",
  plural: "storageclasses",
  scope: "Cluster",
});

export const CSIDriver = builtinKind({ group: "storage.k8s.io", version: "v1", kind: "CSIDriver", plural: "csidrivers", scope: "Cluster" });

const APPLIED: readonly Kind[] = [
  Deployment,
  StatefulSet,
  CronJob,
  VirtualService,
  HelmRelease,
  Kustomization,
  VolumeReplication,
  ScaledObject,
];

export function kindOf(object: KubeObject): Kind {
  const kind = APPLIED.find((one) => one.kind === object.kind && apiVersionOf(one) === object.apiVersion);
  if (!kind) throw new TypeError(`the lab sites do not serve ${object.apiVersion} ${object.kind}`);
  return kind;
}
