import { selects } from "../../api/core/label-selector.ts";
import type { VolumeGroupReplication, VolumeReplication } from "../observe/external-kinds.ts";
import type { ReadResult, ObservedPolicy } from "../observe/observed.ts";
import { itemsOf, readResources, unread } from "./resources.ts";
import type { Managed, VolumeKind } from "../policy/managed.ts";
import { type PolicyFailure, resourceFailure, type Wait } from "../policy/failure.ts";

/** A volume or a group of volumes, as one VolumeReplication. */
export interface VolumeRead {
  readonly resource: Managed & { readonly kind: VolumeKind };
  readonly result: ReadResult<VolumeReplication>;
}

const GROUP_REF = "replication.storage.openshift.io/volumegroupref";

/** Volumes first, then groups, each in the order of the policy. */
export function readVolumes(observed: ObservedPolicy): VolumeRead[] {
  const groups = readResources(observed, ["VolumeGroupReplication"]).map(({ resource, result }) => ({
    resource,
    result: "found" in result ? asVolume(observed, result.found) : result,
  }));
  return [...readResources(observed, ["VolumeReplication"]), ...groups];
}

export function foundVolumes(observed: ObservedPolicy): { resource: VolumeRead["resource"]; object: VolumeReplication }[] {
  return readVolumes(observed).flatMap(({ resource, result }) => ("found" in result ? [{ resource, object: result.found }] : []));
}

export function unreadableVolumes(observed: ObservedPolicy): Wait[] {
  return readVolumes(observed).flatMap(({ resource, result }) => ("error" in result ? [unread(resource, result.error)] : []));
}

/**
 * What is asked, and written, is the group. What became of it only its VolumeReplication says: csi-addons copies an older status into the group and
 * stamps it with the group's own generation. Until that one has been given the same spec, nothing is known; nor before csi-addons has seen the group
 * as it is: a group that was asked for the other role and back can still hand the other role down.
 */
function asVolume(observed: ObservedPolicy, group: VolumeGroupReplication): ReadResult<VolumeReplication> {
  const { metadata, spec } = group;
  const { namespace = "", name } = metadata;
  const replications = observed.replications(namespace);
  if ("error" in replications) return replications;
  const own = "found" in replications ? replications.found.find((one) => one.metadata.name === spec.volumeReplicationName) : undefined;
  const isOwn = own?.metadata.annotations?.[GROUP_REF] === `${namespace}/${name}`;
  const { replicationState } = spec;
  const isObserved = group.status?.observedGeneration === metadata.generation;
  const evidence = own && isOwn && isObserved && own.spec.replicationState === replicationState ? own : undefined;
  const { generation = 0 } = evidence?.metadata ?? metadata;
  return {
    found: {
      metadata: { ...metadata, generation },
      spec: {
        replicationState,
        ...(spec.volumeReplicationClassName !== undefined && { volumeReplicationClass: spec.volumeReplicationClassName }),
        dataSource: { kind: "VolumeGroupReplication", name },
      },
      // A group that csi-addons cannot begin with leaves its VolumeReplication alone and says why in its own message.
      status: evidence?.status ?? (group.status?.message === undefined ? {} : { message: group.status.message }),
    },
  };
}

/** The claims that a volume is about: of a group those that it has, and those that its selector matches by now. */
export function claimsOf(observed: ObservedPolicy, resource: VolumeRead["resource"], volume: VolumeReplication): string[] {
  if (resource.kind === "VolumeReplication") return [volume.spec.dataSource.name];
  const result = observed.read({ ...resource, kind: "VolumeGroupReplication" });
  if (!("found" in result)) return [];
  const { spec, status } = result.found;
  const { items } = itemsOf(observed.claims(resource.namespace), "PersistentVolumeClaim", resource.namespace);
  const matched = items.filter(({ metadata }) => selects(spec.source.selector, metadata.labels ?? {})).map(({ metadata }) => metadata.name);
  return [...new Set([...(status?.persistentVolumeClaimsRefList ?? []).map(({ name }) => name), ...matched])];
}

/** Groups that cannot be switched, and the VolumeReplication of a group, which csi-addons puts back to what the group says. */
export function unusableGroups(observed: ObservedPolicy): PolicyFailure[] {
  const members = readResources(observed, ["VolumeReplication"]).flatMap(({ resource, result }) => {
    const source = "found" in result ? result.found.spec.dataSource : undefined;
    if (!source || source.kind === "PersistentVolumeClaim") return [];
    const fix =
      source.kind === "VolumeGroupReplication"
        ? `name ${source.kind} ${source.name} instead`
        : "only a VolumeReplication of a PersistentVolumeClaim can be switched";
    return [resourceFailure(resource, "Refused", `VolumeReplication ${resource.name} is of a ${source.kind}; ${fix}`)];
  });
  const groups = readResources(observed, ["VolumeGroupReplication"]).flatMap(({ resource, result }) => {
    if (!("found" in result)) return [];
    const { metadata, spec, status } = result.found;
    const title = `VolumeGroupReplication ${resource.name}`;
    if (spec.external === true)
      return [
        resourceFailure(resource, "Refused", `${title} has spec.external: csi-addons does not switch it, and its status proves nothing`),
      ];
    if (metadata.deletionTimestamp !== undefined)
      return [resourceFailure(resource, "Refused", `${title} is being deleted; remove it from the policy`)];
    if ((status?.persistentVolumeClaimsRefList ?? []).length > 0) return [];
    return [
      resourceFailure(
        resource,
        "Refused",
        `${title} has no claims: label PersistentVolumeClaims so that spec.source.selector matches them`,
      ),
    ];
  });
  return [...members, ...groups];
}
