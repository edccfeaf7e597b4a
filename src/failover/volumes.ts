import type { Role } from "../api/failover/failover-policy.ts";
import type { Condition } from "../api/kind.ts";
import type { VolumeReplication } from "./external.ts";
import {
  called,
  change,
  found,
  grouped,
  listed,
  mark,
  perObserved,
  sightings,
  unfoundState,
  unseen,
  waitFor,
  type Finding,
} from "./planning/looking.ts";
import { isStamped, PRIOR, recall, rememberAnew, stamp } from "./planning/memory.ts";
import type { Managed, Observed } from "./observed.ts";
import { podWait, writersOn } from "./planning/pods.ts";
import type { PolicyFailure, ResourceState, Wait } from "./step.ts";

const KIND = ["VolumeReplication"] as const;

export function demoteVolumes(observed: Observed, fence: string | undefined): Finding {
  const kind = observed.kindOf("VolumeReplication");
  const writes = found(observed, KIND).flatMap(({ object }) => {
    const name = called("VolumeReplication", object);
    if (asked(object) === "secondary") return mark(kind, object, fence, name);
    // A secondary no longer says when it was last copied; what is remembered of an earlier time is of an earlier switch.
    const annotations = { ...rememberAnew(observed.policy, "lastSyncTime", object.status?.lastSyncTime ?? null), ...stamp(fence) };
    return [change(kind, object, annotations, { replicationState: "secondary" }, `demote ${name}`)];
  });
  return { writes, waits: unseen(observed, KIND) };
}

/**
 * At rest, what somebody else demoted is not taken back: see `driftedVolumes`. A demotion that is under way has to be over first: csi-addons asks nothing
 * of the driver for a volume that still says Primary, so the driver could have demoted it and nobody would promote it again.
 */
export function promoteVolumes(observed: Observed): Finding {
  const demoted = found(observed, KIND).filter(({ object }) => asked(object) !== "primary");
  const underWay = demoted.filter(({ object }) => !isCurrent(object.status?.observedGeneration, object));
  const writes = demoted.map(({ object }) => {
    const annotations = object.metadata.annotations?.[PRIOR] === undefined ? {} : { [PRIOR]: null };
    const words = `promote ${called("VolumeReplication", object)}`;
    return change(observed.kindOf("VolumeReplication"), object, annotations, { replicationState: "primary" }, words);
  });
  const waits = underWay.map(({ resource }) =>
    waitFor(resource, `VolumeReplication ${resource.name} has not yet come to what it was asked before`),
  );
  return { writes, waits: [...unseen(observed, KIND), ...waits] };
}

/** Who can still write to a volume: pods that mount its claim, whoever's they are, and nodes to which it is attached. */
export function volumesInUse(observed: Observed): Wait[] {
  return found(observed, KIND).flatMap(({ object }) => mountedBy(observed, object).concat(attachedTo(observed, object)));
}

function mountedBy(observed: Observed, { metadata: { namespace = "", name }, spec }: VolumeReplication): Wait[] {
  const claim = spec.dataSource.name;
  const { items, waits } = writersOn(observed, namespace, claim);
  return [...waits, ...items.map((pod) => podWait(pod, `mounts claim ${claim} of VolumeReplication ${name}`, observed.now))];
}

const claims = perObserved((observed: Observed, namespace: string) => {
  const { items, waits } = listed(observed.claims(namespace), "PersistentVolumeClaim", namespace);
  return { volumeOf: new Map(items.map(({ metadata, spec }) => [metadata.name, spec.volumeName])), waits };
});

const attachments = perObserved((observed: Observed) => {
  const { items, waits } = listed(observed.attachments(), "VolumeAttachment");
  return { ofVolume: grouped(items, ({ spec: { source } }) => [source.persistentVolumeName ?? ""]), waits };
});

function attachedTo(observed: Observed, { metadata: { namespace = "", name }, spec }: VolumeReplication): Wait[] {
  const { volumeOf, waits: unknown } = claims(observed, namespace);
  const { ofVolume, waits } = attachments(observed, "");
  const volume = volumeOf.get(spec.dataSource.name);
  const left = volume === undefined ? [] : (ofVolume.get(volume) ?? []);
  const message = (node: string) => `Volume ${volume} of VolumeReplication ${namespace}/${name} is still attached to node ${node}`;
  return [
    ...unknown,
    ...waits,
    ...left.map((attachment) => ({ kind: "VolumeAttachment", name: attachment.metadata.name, message: message(attachment.spec.nodeName) })),
  ];
}

/** Volumes of which nobody knows what they are, or that do not exist. */
export function unknownVolumes(observed: Observed): Wait[] {
  const missing = sightings(observed, KIND).filter(({ look }) => "absent" in look);
  return [
    ...unseen(observed, KIND),
    ...missing.map(({ resource }) => waitFor(resource, `VolumeReplication ${resource.name} does not exist`)),
  ];
}

/**
 * Volumes that are not where they should be. One that does not exist is primary for nobody, and holds up no switch to secondary. At rest, one that is
 * asked to be something else has drifted, and waiting does not help.
 */
export function awaitVolumes(observed: Observed, role: Role, resting = false): Wait[] {
  const unknown = role === "primary" ? unknownVolumes(observed) : unseen(observed, KIND);
  const unsettled = found(observed, KIND).flatMap(({ resource, object }) => {
    const lacking = resting && asked(object) !== role ? undefined : whatLacks(object, role);
    return lacking === undefined ? [] : [waitFor(resource, `VolumeReplication ${resource.name} not in desired state: ${lacking}`)];
  });
  return [...unknown, ...unsettled];
}

/** In safe mode one volume with an error is reason enough to leave the others as they are. */
export function troubledVolumes(observed: Observed, role: Role): Wait[] {
  return failedVolumes(observed, role).map(({ kind, namespace = "", name, message }) => ({ kind, namespace, name, message }));
}

/** What csi-addons says has gone wrong on the way to where the volume is asked to be. */
export function failedVolumes(observed: Observed, role: Role): PolicyFailure[] {
  return found(observed, KIND).flatMap(({ resource, object }) => {
    const trouble = asked(object) === role ? troubleOf(object) : undefined;
    if (trouble === undefined) return [];
    const { kind, namespace, name, field } = resource;
    const message = `VolumeReplication ${name} not in desired state: ${trouble}`;
    return [{ kind, namespace, name, field, reason: "VolumeError", message, class: "Transient" }];
  });
}

/** Volumes that somebody demoted while this site was at rest as the primary. To promote them again might undo a takeover by the other site. */
export function driftedVolumes(observed: Observed): PolicyFailure[] {
  return found(observed, KIND).flatMap(({ resource, object }) => {
    if (asked(object) === "primary") return [];
    const { kind, namespace, name, field } = resource;
    const message = `VolumeReplication ${name} was made ${object.spec.replicationState} by somebody else; make it primary, or change the policy to have it promoted`;
    return [{ kind, namespace, name, field, reason: "Drifted", message, class: "Permanent" }];
  });
}

/** A group's claims are not known to its VolumeReplication, so nobody could tell when they are free. */
export function groupVolumes(observed: Observed): PolicyFailure[] {
  return found(observed, KIND).flatMap(({ resource, object }) => {
    const { dataSource } = object.spec;
    if (dataSource.kind === "PersistentVolumeClaim") return [];
    const { kind, namespace, name, field } = resource;
    const message = `VolumeReplication ${name} is of a ${dataSource.kind}; only one of a PersistentVolumeClaim can be switched`;
    return [{ kind, namespace, name, field, reason: "Refused", message, class: "Permanent" }];
  });
}

/** Whether every volume is known to be a secondary, at the epoch that is to be released. */
export function areDemoted(observed: Observed, fence: string | undefined): boolean {
  return sightings(observed, KIND).every(
    ({ look }) => "found" in look && whatLacks(look.found, "secondary") === undefined && isStamped(look.found, fence),
  );
}

/** Volumes that have not everything that the other site wrote. */
export function degradedVolumes(observed: Observed): Wait[] {
  return sightings(observed, KIND).flatMap(({ resource, look }) => {
    const { name } = resource;
    if (!("found" in look))
      return [waitFor(resource, `VolumeReplication ${name} ${"error" in look ? `cannot be read: ${look.error}` : "does not exist"}`)];
    // Where the token comes to what is primary already, nothing is promoted that could be behind.
    if (whatLacks(look.found, "primary") === undefined) return [];
    const lacking = whatLacks(look.found, "secondary");
    if (lacking !== undefined) return [waitFor(resource, `VolumeReplication ${name} is no settled secondary: ${lacking}`)];
    const behind = (["Degraded", "Resyncing"] as const).filter((type) => conditionOf(look.found, type)?.status !== "False");
    return behind.length === 0
      ? []
      : [waitFor(resource, `VolumeReplication ${name} has not everything yet: ${behind.join(" and ")} not False`)];
  });
}

export function volumeStates(observed: Observed, role: Role): ResourceState[] {
  return sightings(observed, KIND).flatMap((sighting) => {
    const { resource, look } = sighting;
    return unfoundState(sighting) ?? ("found" in look ? stateOf(resource, look.found, role) : []);
  });
}

function stateOf(resource: Managed, volume: VolumeReplication, role: Role): ResourceState {
  const lacking = whatLacks(volume, role);
  const memory = recall(volume, "lastSyncTime");
  const isOfNow = memory.is === "there" && asked(volume) === "secondary";
  const lastSyncTime = (isOfNow ? memory.prior : undefined) ?? volume.status?.lastSyncTime;
  const replicating = role === "primary" ? conditionOf(volume, "Replicating")?.status : undefined;
  return {
    resource,
    state: volume.status?.state ?? "Unknown",
    ...(replicating !== undefined && { replicating }),
    ...(lacking !== undefined && { error: `VolumeReplication ${resource.name} not in desired state`, message: lacking }),
    ...(lastSyncTime !== undefined && { lastSyncTime }),
  };
}

/** What is asked for. A resync is one of a secondary, on somebody's order. */
function asked({ spec }: VolumeReplication): Role {
  return spec.replicationState === "primary" ? "primary" : "secondary";
}

function whatLacks(volume: VolumeReplication, role: Role): string | undefined {
  const { metadata, status } = volume;
  if (asked(volume) !== role) return `it is asked to be ${asked(volume)}`;
  if (!isCurrent(status?.observedGeneration, volume)) return `its status is not yet of generation ${metadata.generation}`;
  const trouble = troubleOf(volume);
  if (trouble !== undefined) return trouble;
  if (status?.state?.toLowerCase() !== role) return `it is ${status?.state ?? "in no known state"}`;
  if (conditionOf(volume, "Completed")?.status === "True" || hasNothingNew(volume, role)) return undefined;
  return `condition Completed is not yet True at generation ${metadata.generation}`;
}

/** For a volume that is primary already csi-addons has nothing to do, whatever else of its spec changes, and leaves the conditions as they are. */
function hasNothingNew({ metadata, status }: VolumeReplication, role: Role): boolean {
  const said = status?.conditions?.find(({ type }) => type === "Completed")?.observedGeneration;
  return role === "primary" && said !== undefined && said < (metadata.generation ?? 0);
}

/** `VolumeDegraded`, and being resynced, is how a secondary lives. Only where Completed is not False do the others mean anything. */
function troubleOf(volume: VolumeReplication): string | undefined {
  if (!isCurrent(volume.status?.observedGeneration, volume)) return undefined;
  const completed = conditionOf(volume, "Completed");
  if (completed?.status === "False") return described(completed);
  const degraded = conditionOf(volume, "Degraded");
  return degraded?.status === "True" && degraded.reason === "Error" ? described(degraded) : undefined;
}

function described({ type, status, reason, message }: Condition): string {
  return `${type} is ${status} (${reason})${message === "" ? "" : `: ${message}`}`;
}

/** A condition of the current generation; one of an earlier says nothing about what is asked now. */
function conditionOf(volume: VolumeReplication, type: string): Condition | undefined {
  return volume.status?.conditions?.find((condition) => condition.type === type && isCurrent(condition.observedGeneration, volume));
}

function isCurrent(observedGeneration: number | undefined, { metadata }: VolumeReplication): boolean {
  return observedGeneration !== undefined && observedGeneration === metadata.generation;
}
