import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";

/** Who writes the status of a check, as it stands there. */
export type WriterClaim = NonNullable<NonNullable<PodNetworkConnectivityCheck["status"]>["writer"]>;

/** One process that tries checks: nobody else has this name, and it began then. */
export type CheckWriter = Pick<WriterClaim, "name" | "started">;

/** Whoever begins with a check stands above all who did before: by counting, since clocks differ. */
export function claimCheck({ status }: PodNetworkConnectivityCheck, claimant: CheckWriter): WriterClaim {
  return { ...claimant, term: (status?.writer?.term ?? 0) + 1 };
}

/** Whether the check is the other's. Of two who began with it at once, the one that was started last has it. */
export function outranks(other: WriterClaim | undefined, own: WriterClaim): boolean {
  if (other === undefined || other.name === own.name) return false;
  if (other.term !== own.term) return other.term > own.term;
  return other.started === own.started ? other.name > own.name : other.started > own.started;
}
