import type { FailoverPolicy, FailoverStatus } from "../../api/failover/failover-policy.ts";

export interface PeerCopy {
  /** Of its oldest volume; unset without maxCopyAge there, or if one is unknown. */
  readonly lastSyncTime?: string;
  /** The worst of its volumes; unset if one is unknown. */
  readonly replicating?: "True" | "False" | "Unknown";
}

/** Another version, or another program, may have written it. */
export function copyOf(status: FailoverStatus | undefined): { readonly copy?: PeerCopy } {
  const volumes = Array.isArray(status?.volumeReplicationStatuses) ? status.volumeReplicationStatuses : [];
  const states = volumes.map((volume) => volume?.replicating);
  const replicating = (["False", "Unknown", "True"] as const).find((value) => states.includes(value));
  const isWhole = states.length > 0 && states.every((state) => state !== undefined);
  // Those of single volumes are as old as the last write of the status.
  const lastSyncTime = timeOf(status?.lastSyncTime);
  const copy = {
    ...(lastSyncTime !== undefined && { lastSyncTime }),
    ...(replicating !== undefined && (isWhole || replicating === "False") && { replicating }),
  };
  return Object.keys(copy).length > 0 ? { copy } : {};
}

/** Undefined unless all are known. */
export function oldest(times: readonly (string | undefined)[]): string | undefined {
  const known = times.filter((time) => time !== undefined);
  if (known.length < times.length) return undefined;
  return known.toSorted((one, other) => Date.parse(one) - Date.parse(other))[0];
}

function timeOf(value: unknown): string | undefined {
  return typeof value === "string" && value.length <= 64 && !Number.isNaN(Date.parse(value)) ? value : undefined;
}

/** The oldest copy at the secondary site: on a primary by its own volumes, on a secondary as the other site reported. */
export function copyTime({ spec, status = {} }: FailoverPolicy): string | undefined {
  if (spec.desiredState === "secondary") return status.peer?.lastSyncTime;
  const times = (status.volumeReplicationStatuses ?? []).flatMap(({ lastSyncTime }) => lastSyncTime ?? []);
  return times.toSorted((one, other) => Date.parse(one) - Date.parse(other))[0];
}
