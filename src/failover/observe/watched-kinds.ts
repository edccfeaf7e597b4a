import type { FailoverPolicy, ManagedKind } from "../../api/failover/failover-policy.ts";
import type { Managed } from "../policy/managed.ts";

/** A kind of which all objects of a namespace are looked at, beside those that a policy names. */
type SurroundingKind =
  | "VolumeReplication"
  | "Pod"
  | "Job"
  | "PersistentVolumeClaim"
  | "HorizontalPodAutoscaler"
  | "ScaledObject"
  | "ApplicationSet"
  | "VolumeAttachment"
  | "VolumeReplicationClass"
  | "CSIDriver"
  | "NetworkFence";
export type WatchedKind = ManagedKind | SurroundingKind | "Namespace";

/** What has to be looked at: of each kind, in which namespaces, and there which names. No names: all. */
export type WatchedKinds = ReadonlyMap<WatchedKind, ReadonlyMap<string, ReadonlySet<string>>>;

/** The namespace of what is in none. */
export const NO_NAMESPACE = "";

const CLUSTER_SCOPED: ReadonlySet<SurroundingKind> = new Set(["VolumeAttachment", "VolumeReplicationClass", "CSIDriver"]);

const AROUND: Record<ManagedKind, readonly SurroundingKind[]> = {
  // Who mounts it, where it is attached, and whether its driver attaches volumes at all.
  VolumeReplication: ["Pod", "PersistentVolumeClaim", "VolumeAttachment", "VolumeReplicationClass", "CSIDriver"],
  Deployment: ["Pod", "HorizontalPodAutoscaler", "ScaledObject"],
  StatefulSet: ["Pod", "HorizontalPodAutoscaler", "ScaledObject"],
  CronJob: ["Pod", "Job"],
  VirtualService: [],
  HelmRelease: [],
  Kustomization: [],
  // What would put it back to its template.
  Application: ["ApplicationSet"],
  // Its VolumeReplication has a name that csi-addons makes up.
  VolumeGroupReplication: ["VolumeReplication", "Pod", "PersistentVolumeClaim", "VolumeAttachment", "VolumeReplicationClass", "CSIDriver"],
};

/** What is needed for these resources of the policy. Whether it may act in other namespaces, those say themselves. */
export function watchedKindsOf(managed: readonly Managed[], policy?: FailoverPolicy): WatchedKinds {
  const own = policy && (policy.metadata.namespace ?? "");
  const watched = new Map<WatchedKind, Map<string, Set<string>>>();
  const namespacesFor = (kind: WatchedKind) => {
    const byNamespace = watched.get(kind) ?? new Map<string, Set<string>>();
    watched.set(kind, byNamespace);
    return byNamespace;
  };
  for (const { kind, namespace, name } of managed) {
    const byNamespace = namespacesFor(kind);
    byNamespace.set(namespace, (byNamespace.get(namespace) ?? new Set()).add(name));
  }
  // All of a kind includes those that are named.
  for (const { kind, namespace } of managed) {
    for (const other of AROUND[kind]) namespacesFor(other).set(CLUSTER_SCOPED.has(other) ? NO_NAMESPACE : namespace, new Set());
    if (own !== undefined && namespace !== own) {
      const namespaces = namespacesFor("Namespace");
      namespaces.set(NO_NAMESPACE, (namespaces.get(NO_NAMESPACE) ?? new Set()).add(namespace));
    }
  }
  if (policy?.spec.fence) namespacesFor("NetworkFence").set(NO_NAMESPACE, new Set());
  return watched;
}

/** Whether a change of this object matters for these needs. */
export function affects(watched: WatchedKinds, kind: WatchedKind, namespace: string, name: string): boolean {
  const names = watched.get(kind)?.get(namespace);
  return names !== undefined && (names.size === 0 || names.has(name));
}
