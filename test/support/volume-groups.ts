import { claimSpec, persistentVolume } from "../../lab/sites/application.ts";
import { DRIVER } from "../../lab/sites/external-attacher.ts";
import { PersistentVolume, STORAGE_CLASS } from "../../lab/sites/kinds.ts";
import { until } from "../../lab/sites/site.ts";
import { PersistentVolumeClaim } from "../../src/api/core/persistent-volume-claim.ts";
import type { Role } from "../../src/api/failover/failover-policy.ts";
import { builtinKind, type Kind, type KubeObject } from "../../src/api/kind.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";

const { signal } = new AbortController();
const replication = { group: "replication.storage.openshift.io", version: "v1alpha1" };

interface Group extends KubeObject {
  spec: { replicationState: string; volumeReplicationName?: string; volumeGroupReplicationContentName?: string };
  status?: { state?: string; persistentVolumeClaimsRefList?: object[] };
}
interface Content extends KubeObject {
  spec: { volumeGroupReplicationHandle?: string };
}

export const VolumeGroupReplication = builtinKind<Group>({
  ...replication,
  kind: "VolumeGroupReplication",
  plural: "volumegroupreplications",
  scope: "Namespaced",
});
const VolumeGroupReplicationClass = builtinKind({
  ...replication,
  kind: "VolumeGroupReplicationClass",
  plural: "volumegroupreplicationclasses",
  scope: "Cluster",
});
const VolumeGroupReplicationContent = builtinKind<Content>({
  ...replication,
  kind: "VolumeGroupReplicationContent",
  plural: "volumegroupreplicationcontents",
  scope: "Cluster",
});

/** Bound claims of these names and the group `all` of them, when csi-addons knows all of it. */
export async function createVolumeGroup(client: KubeClient, namespace: string, claims: readonly string[], role: Role): Promise<void> {
  const create = (kind: Kind, object: object) => client.resource(kind).create(object as KubeObject, { signal });
  for (const name of claims) {
    await create(PersistentVolume, persistentVolume(namespace, name));
    await create(PersistentVolumeClaim, { metadata: { name, namespace, labels: { group: "all" } }, spec: claimSpec() });
  }
  const bound = async () => {
    const { items } = await client.resource(PersistentVolumeClaim).list({ namespace, signal });
    return items.every(({ status }) => status?.phase === "Bound");
  };
  await until(`the claims of ${namespace} are bound`, bound, signal);
  await create(VolumeGroupReplicationClass, { metadata: { name: "groups" }, spec: { provisioner: DRIVER, parameters: {} } }).catch(
    (error: unknown) => {
      if (!isKubeError(error, "AlreadyExists")) throw error;
    },
  );
  await create(VolumeGroupReplication, {
    metadata: { name: "all", namespace },
    spec: {
      volumeGroupReplicationClassName: "groups",
      volumeReplicationClassName: STORAGE_CLASS,
      replicationState: role,
      source: { selector: { matchLabels: { group: "all" } } },
    },
  });
  const known = async () => {
    const { status } = await client.resource(VolumeGroupReplication).get("all", { namespace, signal });
    return status?.persistentVolumeClaimsRefList?.length === claims.length && status.state?.toLowerCase() === role;
  };
  await until(`the group of ${namespace} is ${role}`, known, signal);
}

/** By which csi-addons names the group `all` to its driver. */
export async function handleOf(client: KubeClient, namespace: string): Promise<string> {
  const { spec } = await client.resource(VolumeGroupReplication).get("all", { namespace, signal });
  const content = await client.resource(VolumeGroupReplicationContent).get(spec.volumeGroupReplicationContentName ?? "", { signal });
  return content.spec.volumeGroupReplicationHandle ?? "";
}
