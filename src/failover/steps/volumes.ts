import { priorStateAnnotation } from "../../api/annotations.ts";
import { seconds } from "../../util/duration.ts";
import type { Role } from "../../api/failover/failover-policy.ts";
import { metaTime } from "../../api/time.ts";
import type { VolumeReplication } from "../observe/external-kinds.ts";
import { kindAndName, change, grouped, itemsOf, stampOnly, perObserved, missingState, waitFor, waitOf } from "./resources.ts";
import { exemption } from "./owned.ts";
import { isStamped, readPrior, newPriorAnnotation, stamp } from "./prior-annotation.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import { podWait, writersOn } from "./writers.ts";
import { isSpent } from "../token/token.ts";
import { conditionOf, isDoubtfulPrimary, problemOf, requestedRole, uncopied, unseenDemotion, whatLacks } from "./volume-state.ts";
import { claimsOf, foundVolumes, unreadableVolumes, readVolumes, type VolumeRead } from "./volume-groups.ts";
import { type Managed, volumeKeys } from "../policy/managed.ts";
import { type PolicyFailure, policyFailure, resourceFailure, type Wait } from "../policy/failure.ts";
import type { ResourceState, PlannedWrite, StepInput } from "./step.ts";

const DEFAULT_WAIT = "30s";

export function demoteVolumes(observed: ObservedPolicy, fence: string | undefined): StepInput {
  const writes = foundVolumes(observed).flatMap(({ resource, object }) => {
    const kind = observed.kindOf(resource.kind);
    const name = kindAndName(resource.kind, object);
    if (requestedRole(object) === "secondary") return stampOnly(kind, object, fence, name);
    // A secondary no longer reports its last copy; a remembered time is of an earlier switch.
    const annotations = {
      ...newPriorAnnotation(observed.policy, "lastSyncTime", object.status?.lastSyncTime ?? null),
      ...stamp(fence),
      ...exemption(observed, resource.kind, object),
    };
    return [change(kind, object, annotations, { replicationState: "secondary" }, `demote ${name}`)];
  });
  return { writes, waits: unreadableVolumes(observed) };
}

/**
 * At rest, a demotion by others is not reverted: see `driftedVolumes`. A requested demotion must be observed first: csi-addons does not
 * call the driver for a volume that still reports Primary, so the driver could have demoted it, and no promotion would follow.
 */
export function promoteVolumes(observed: ObservedPolicy, mode: "safe" | "unsafe"): StepInput {
  const writes: PlannedWrite[] = [];
  const waits = unreadableVolumes(observed);
  for (const { resource, object } of foundVolumes(observed)) {
    const kind = observed.kindOf(resource.kind);
    const name = kindAndName(resource.kind, object);
    if (requestedRole(object) !== "primary") {
      const forgotten = object.metadata.annotations?.[priorStateAnnotation] === undefined ? {} : { [priorStateAnnotation]: null };
      const annotations = { ...forgotten, ...exemption(observed, resource.kind, object) };
      writes.push(change(kind, object, annotations, { replicationState: "primary" }, `promote ${name}`));
      const pending = unseenDemotion(object);
      if (pending !== undefined) waits.push(waitFor(resource, `${resource.kind} ${resource.name} ${pending}`));
    } else if (isDoubtfulPrimary(object) && mode === "unsafe") {
      writes.push(change(kind, object, { [priorStateAnnotation]: null }, {}, `take ${name} for a primary`));
    } else if (isDoubtfulPrimary(object)) {
      writes.push(
        change(
          kind,
          object,
          {},
          { replicationState: "secondary" },
          `demote ${name} again before it is promoted: its last demotion was not confirmed`,
        ),
      );
      waits.push(...usersOf(observed, resource, object));
    }
  }
  return { writes, waits };
}

/** Pods that mount its claim, of any owner, and nodes to which it is attached. */
export function volumesInUse(observed: ObservedPolicy): Wait[] {
  return foundVolumes(observed).flatMap(({ resource, object }) => usersOf(observed, resource, object));
}

function usersOf(observed: ObservedPolicy, resource: VolumeRead["resource"], volume: VolumeReplication): Wait[] {
  return claimsOf(observed, resource, volume).flatMap((claim) =>
    mountedBy(observed, resource, claim).concat(attachedTo(observed, resource, claim)),
  );
}

function mountedBy(observed: ObservedPolicy, { kind, namespace, name }: Managed, claim: string): Wait[] {
  const { items, waits } = writersOn(observed, namespace, claim);
  return [...waits, ...items.map((pod) => podWait(pod, `mounts claim ${claim} of ${kind} ${name}`, observed.now))];
}

const claims = perObserved((observed: ObservedPolicy, namespace: string) => {
  const { items, waits } = itemsOf(observed.claims(namespace), "PersistentVolumeClaim", namespace);
  return { volumeOf: new Map(items.map(({ metadata, spec }) => [metadata.name, spec.volumeName])), waits };
});

const attachments = perObserved((observed: ObservedPolicy) => {
  const { items, waits } = itemsOf(observed.attachments(), "VolumeAttachment");
  return { ofVolume: grouped(items, ({ spec: { source } }) => [source.persistentVolumeName ?? ""]), waits };
});

function attachedTo(observed: ObservedPolicy, { kind, namespace, name }: Managed, claim: string): Wait[] {
  const { volumeOf, waits: unknown } = claims(observed, namespace);
  const { ofVolume, waits } = attachments(observed, "");
  const volume = volumeOf.get(claim);
  if (volume === undefined) {
    const state = volumeOf.has(claim) ? "is not bound" : "does not exist";
    const unbound = `Claim ${claim} of ${kind} ${name} ${state}, so the attachments of its volume are unknown; restore the claim`;
    return unknown.length > 0 ? [...unknown] : [{ kind: "PersistentVolumeClaim", namespace, name: claim, message: unbound }];
  }
  const left = ofVolume.get(volume) ?? [];
  const message = (node: string) => `Volume ${volume} of ${kind} ${namespace}/${name} is still attached to node ${node}`;
  return [
    ...unknown,
    ...waits,
    ...left.map(({ metadata, spec: { nodeName: node } }) => ({
      kind: "VolumeAttachment",
      name: metadata.name,
      message: message(node),
      node,
    })),
  ];
}

/**
 * Volumes whose driver has no VolumeAttachments: nothing reports when the last node has flushed its writes. They wait for a while after the
 * last writer is gone.
 */
export function volumesToWaitFor(observed: ObservedPolicy): Wait[] {
  const { items: classes, waits: unreadClasses } = itemsOf(observed.replicationClasses(), "VolumeReplicationClass");
  const { items: drivers, waits: unreadDrivers } = itemsOf(observed.drivers(), "CSIDriver");
  const unread = [...unreadClasses, ...unreadDrivers];
  if (unread.length > 0) return unread;
  const driverOf = new Map(classes.map(({ metadata, spec }) => [metadata.name, spec.provisioner]));
  const unattached = new Set(drivers.filter(({ spec }) => spec.attachRequired === false).map(({ metadata }) => metadata.name));
  const { spec, status } = observed.policy;
  const length = spec.settleTime ?? DEFAULT_WAIT;
  const { transition } = status ?? {};
  const since = transition?.to === "secondary" && transition.completionTime === undefined ? transition.writesStoppedTime : undefined;
  const until = since === undefined ? undefined : new Date(Date.parse(since) + (seconds(length) ?? 0) * 1000);
  if (until !== undefined && until <= observed.now) return [];
  return foundVolumes(observed).flatMap(({ resource, object }) => {
    const driver = driverOf.get(object.spec.volumeReplicationClass ?? "") ?? "";
    if (requestedRole(object) === "secondary" || !unattached.has(driver)) return [];
    const end = until === undefined ? "" : `, until ${metaTime(until)}`;
    const message = `CSI driver ${driver} of ${resource.kind} ${resource.name} has no VolumeAttachments; waiting ${length} after the last pod is gone${end} (spec.settleTime)`;
    return [waitFor(resource, message)];
  });
}

/** Volumes that only one of the two policies names: the other site releases only what its own policy names. */
export function unsharedVolumes(observed: ObservedPolicy): PolicyFailure[] {
  const { policy, peer } = observed;
  if (!peer?.reachable || !peer.exists || !peer.volumes) return [];
  const own = volumeKeys(policy, observed.managed);
  const [ours, theirs] = [new Set(own.map(({ key }) => key)), new Set(peer.volumes)];
  const missingThere = own.filter(({ key }) => !theirs.has(key));
  const missingHere = peer.volumes.filter((key) => !ours.has(key));
  return [
    ...missingThere.map(({ key, resource }) =>
      resourceFailure(resource, "VolumeMismatch", `The policy at the other site does not name ${key}; name it there first`),
    ),
    ...missingHere.map((key) => {
      const message = `The policy at the other site names ${key}, and this one does not; name it here too`;
      return policyFailure(policy, "VolumeMismatch", message, { field: "spec.managedResources" });
    }),
  ];
}

export function unknownVolumes(observed: ObservedPolicy): Wait[] {
  const missing = readVolumes(observed).filter(({ result }) => "absent" in result);
  return [
    ...unreadableVolumes(observed),
    ...missing.map(({ resource }) => waitFor(resource, `${resource.kind} ${resource.name} does not exist`)),
  ];
}

/**
 * Volumes in another state. A missing one does not block a switch to secondary. At rest, one with another requested role has drifted, and
 * waiting does not help.
 */
export function awaitVolumes(observed: ObservedPolicy, role: Role, resting = false): Wait[] {
  const unknown = role === "primary" ? unknownVolumes(observed) : unreadableVolumes(observed);
  const unsettled = foundVolumes(observed).flatMap(({ resource, object }) => {
    const lacking = resting && requestedRole(object) !== role ? undefined : whatLacks(object, role);
    return lacking === undefined ? [] : [waitFor(resource, `${resource.kind} ${resource.name} not in desired state: ${lacking}`)];
  });
  return [...unknown, ...unsettled];
}

/** In safe mode one failed volume stops the others. */
export function failedVolumeWaits(observed: ObservedPolicy, role: Role): Wait[] {
  return failedVolumes(observed, role).map(waitOf);
}

/** Errors of csi-addons on the way to the requested role. */
export function failedVolumes(observed: ObservedPolicy, role: Role): PolicyFailure[] {
  return foundVolumes(observed).flatMap(({ resource, object }) => {
    const problem = requestedRole(object) === role ? problemOf(object) : undefined;
    if (problem === undefined) return [];
    const message = `${resource.kind} ${resource.name} not in desired state: ${problem}`;
    return [resourceFailure(resource, "VolumeError", message, "Transient")];
  });
}

/** Volumes that were demoted while this site was a primary at rest. Promoting them again could revert a takeover by the other site. */
export function driftedVolumes(observed: ObservedPolicy): PolicyFailure[] {
  return foundVolumes(observed).flatMap(({ resource, object }) => {
    if (requestedRole(object) === "primary") return [];
    const message = `${resource.kind} ${resource.name} was made ${object.spec.replicationState} by another controller or person; make it primary, or change the policy to have it promoted`;
    return [resourceFailure(resource, "Drifted", message)];
  });
}

/** Whether every volume is known to be a secondary, at the epoch of the release. */
export function areDemoted(observed: ObservedPolicy, fence: string | undefined): boolean {
  return readVolumes(observed).every(
    ({ result }) => "found" in result && whatLacks(result.found, "secondary") === undefined && isStamped(result.found, fence),
  );
}

/**
 * Volumes of this site whose data may be incomplete at the other one. csi-addons reports Degraded=False and Resyncing=False for a secondary
 * only when it saw both sides demoted and equal, and then stops asking. At the generation of the demotion that is proof: nothing was
 * promoted here since. At the target of a switch it is not: the other side may have been primary since.
 */
export function uncopiedVolumes(observed: ObservedPolicy): Wait[] {
  return readVolumes(observed).flatMap(({ resource, result }) => {
    const lacking = "found" in result ? (whatLacks(result.found, "secondary") ?? uncopied(result.found)) : "it is not known";
    return lacking === undefined ? [] : [waitFor(resource, `${resource.kind} ${resource.name} is not copied yet: ${lacking}`)];
  });
}

/** As far as csi-addons knows. */
export function arePromoted(observed: ObservedPolicy): boolean {
  return readVolumes(observed).every(({ result }) => "found" in result && whatLacks(result.found, "primary") === undefined);
}

/** Volumes that cannot be promoted safely: unknown ones, and those that are neither primary nor secondary. */
export function unpromotableVolumes(observed: ObservedPolicy): Wait[] {
  return readVolumes(observed).flatMap(({ resource, result }) => {
    const { kind, name } = resource;
    if (!("found" in result))
      return [waitFor(resource, `${kind} ${name} ${"error" in result ? `cannot be read: ${result.error}` : "does not exist"}`)];
    const lacking = whatLacks(result.found, "secondary");
    if (lacking === undefined || whatLacks(result.found, "primary") === undefined) return [];
    return [waitFor(resource, `${kind} ${name} is not a stable secondary: ${lacking}`)];
  });
}

/** Without `spec.peer` only the volume itself shows that the other side is primary: then promoting it splits the data. */
export function receivingVolumes(observed: ObservedPolicy): Wait[] {
  const known = "if the other site has stopped writing";
  const force = isSpent(observed.policy) ? `give spec.force a new reason ${known}: its takeover is complete` : `set spec.force ${known}`;
  return foundVolumes(observed).flatMap(({ resource, object }) => {
    if (requestedRole(object) === "primary" || conditionOf(object, "Resyncing")?.status !== "True") return [];
    const message = `${resource.kind} ${resource.name} is resyncing (Resyncing is True): the other site is primary, or its last writes are still being copied; make it secondary there, or ${force}`;
    return [waitFor(resource, message)];
  });
}

export function volumeStates(observed: ObservedPolicy, role: Role): ResourceState[] {
  return readVolumes(observed).flatMap((read) => {
    const { resource, result } = read;
    return missingState(read) ?? ("found" in result ? stateOf(resource, result.found, role) : []);
  });
}

function stateOf(resource: Managed, volume: VolumeReplication, role: Role): ResourceState {
  const lacking = whatLacks(volume, role);
  const memory = readPrior(volume, "lastSyncTime");
  const isOfNow = memory.is === "there" && requestedRole(volume) === "secondary";
  const lastSyncTime = (isOfNow ? memory.prior : undefined) ?? volume.status?.lastSyncTime;
  const replicating = role === "primary" ? conditionOf(volume, "Replicating")?.status : undefined;
  return {
    resource,
    state: volume.status?.state ?? "Unknown",
    ...(replicating !== undefined && { replicating }),
    ...(lacking !== undefined && { error: `${resource.kind} ${resource.name} not in desired state`, message: lacking }),
    ...(lastSyncTime !== undefined && { lastSyncTime }),
  };
}
