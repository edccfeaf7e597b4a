import type { Lease } from "../../api/core/lease.ts";

/** There was no Lease, its holder released it, or its holder did not renew it for a full duration. */
export type Takeover = "free" | "released" | "expired";

/** A Lease as last read, and since when it is unchanged, on the own monotonic clock. */
export interface ObservedLease {
  lease: Lease;
  since: number;
}

export function observeLease(before: ObservedLease | undefined, lease: Lease, now: number): ObservedLease {
  return { lease, since: before && sameHold(before.lease.spec, lease.spec) ? before.since : now };
}

/** Times in the Lease are compared only with each other, never with a clock: those of two machines may differ by any amount. */
function sameHold(a: Lease["spec"], b: Lease["spec"]): boolean {
  return a.holderIdentity === b.holderIdentity && a.renewTime === b.renewTime && a.leaseTransitions === b.leaseTransitions;
}

/** Undefined if it may not be taken. A deleted Lease belongs to its holder until it would have expired. */
export function takeoverOf(observed: ObservedLease | undefined, now: number): Takeover | undefined {
  if (!observed) return "free";
  const { holderIdentity, leaseDurationSeconds = 0 } = observed.lease.spec;
  if (!holderIdentity) return "released";
  return now - observed.since >= leaseDurationSeconds * 1000 ? "expired" : undefined;
}
