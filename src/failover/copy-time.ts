import type { FailoverPolicy } from "../api/failover/failover-policy.ts";

/** When the copy at the secondary site was taken, of the volume that is furthest behind: on a primary by its own volumes, on a secondary as the other site told. */
export function copyTime({ spec, status = {} }: FailoverPolicy): string | undefined {
  if (spec.desiredState === "secondary") return status.peer?.lastSyncTime;
  const times = (status.volumeReplicationStatuses ?? []).flatMap(({ lastSyncTime }) => lastSyncTime ?? []);
  return times.toSorted((one, other) => Date.parse(one) - Date.parse(other))[0];
}
