import type { Role } from "../../api/failover/failover-policy.ts";
import type { Condition } from "../../api/kind.ts";
import type { VolumeReplication } from "../observe/external-kinds.ts";
import { readPrior } from "./prior-annotation.ts";

const RESYNC = ". It has writes that the other site does not have; to discard them, set spec.replicationState to resync";

/** A resync counts as secondary. */
export function requestedRole({ spec }: VolumeReplication): Role {
  return spec.replicationState === "primary" ? "primary" : "secondary";
}

export function whatLacks(volume: VolumeReplication, role: Role): string | undefined {
  const { metadata, status } = volume;
  if (requestedRole(volume) !== role) return `spec.replicationState is ${requestedRole(volume)}`;
  if (!isCurrent(status?.observedGeneration, volume)) {
    const why = status?.observedGeneration === undefined && status?.message ? `: ${status.message}` : "";
    return `its status is not yet of generation ${metadata.generation}${why}`;
  }
  const problem = problemOf(volume);
  if (problem !== undefined) return problem;
  if (status?.state?.toLowerCase() !== role) return `it is ${status?.state ?? "in no known state"}`;
  if (role === "primary" && isDoubtfulPrimary(volume)) return "its earlier demotion was not confirmed";
  if (conditionOf(volume, "Completed")?.status === "True" || hasNothingNew(volume, role)) return undefined;
  return `condition Completed is not yet True at generation ${metadata.generation}`;
}

/** csi-addons up to 0.12 does nothing for a volume that is already primary, whatever else in its spec changes, and keeps its conditions. */
function hasNothingNew({ metadata, status }: VolumeReplication, role: Role): boolean {
  const completed = status?.conditions?.find(({ type }) => type === "Completed");
  if (role !== "primary" || completed?.status !== "True" || completed.reason !== "Promoted") return false;
  return completed.observedGeneration !== undefined && completed.observedGeneration < (metadata.generation ?? 0);
}

/** `VolumeDegraded` and resyncing are normal for a secondary. The others are valid only if Completed is not False. */
export function problemOf(volume: VolumeReplication): string | undefined {
  if (!isCurrent(volume.status?.observedGeneration, volume)) return undefined;
  const completed = conditionOf(volume, "Completed");
  if (completed?.status === "False") return `${described(completed)}${completed.reason === "FailedToResync" ? RESYNC : ""}`;
  const degraded = conditionOf(volume, "Degraded");
  return degraded?.status === "True" && degraded.reason === "Error" ? described(degraded) : undefined;
}

/** Why a demoted volume cannot be promoted yet. */
export function unseenDemotion(volume: VolumeReplication): string | undefined {
  if (!isCurrent(volume.status?.observedGeneration, volume)) return `has not reached its previous desired state`;
  if (volume.status?.state !== "Primary") return undefined;
  return `was demoted and is not Secondary yet; it is promoted after that`;
}

/**
 * Promoted by others after our demotion. csi-addons then reports Primary without asking the driver. Only a driver that implements
 * GetVolumeReplicationInfo, which works for a primary alone, proves that it is one: at this generation, because csi-addons 0.13 keeps the
 * condition through a demotion, and writes nothing more while the driver rejects the call.
 */
export function isDoubtfulPrimary(volume: VolumeReplication): boolean {
  if (volume.status?.state !== "Primary" || readPrior(volume, "lastSyncTime").is !== "there") return false;
  const replicating = conditionOf(volume, "Replicating")?.status;
  return replicating !== "True" && replicating !== "False";
}

export function uncopied(volume: VolumeReplication): string | undefined {
  const behind = (["Degraded", "Resyncing"] as const).flatMap((type) => {
    const found = conditionOf(volume, type);
    return found?.status === "False" ? [] : [found ? described(found) : `condition ${type} is missing`];
  });
  return behind.length === 0 ? undefined : behind.join(", ");
}

export function described({ type, status, reason, message }: Condition): string {
  return `${type} is ${status} (${reason})${message === "" ? "" : `: ${message}`}`;
}

/** Of the current generation only. */
export function conditionOf(volume: VolumeReplication, type: string): Condition | undefined {
  return volume.status?.conditions?.find((condition) => condition.type === type && isCurrent(condition.observedGeneration, volume));
}

function isCurrent(observedGeneration: number | undefined, { metadata }: VolumeReplication): boolean {
  return observedGeneration !== undefined && observedGeneration === metadata.generation;
}
