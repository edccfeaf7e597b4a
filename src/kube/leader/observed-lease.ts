import type { Lease } from "../../api/core/lease.ts";

/** How a Lease came to be free: there was none, its holder let go of it, or its holder was not heard for a full duration. */
export type Takeover = "free" | "released" | "expired";

/** A Lease as last read, and since when it has been held as it is, on this process's own monotonic clock. */
export interface ObservedLease {
  lease: Lease;
  since: number;
}

export function observeLease(before: ObservedLease | undefined, lease: Lease, now: number): ObservedLease {
  return { lease, since: before && sameHold(before.lease.spec, lease.spec) ? before.since : now };
}

/** Times in the Lease are compared with each other only, never with a clock: those of two machines may differ by any amount. */
function sameHold(a: Lease["spec"], b: Lease["spec"]): boolean {
  return a.holderIdentity === b.holderIdentity && a.renewTime === b.renewTime && a.leaseTransitions === b.leaseTransitions;
}

/** How the Lease may be taken now, if it may. A Lease that someone deleted is still its holder's until it would have expired. */
export function takeoverOf(observed: ObservedLease | undefined, now: number): Takeover | undefined {
  if (!observed) return "free";
  const { holderIdentity, leaseDurationSeconds = 0 } = observed.lease.spec;
  if (!holderIdentity) return "released";
  return now - observed.since >= leaseDurationSeconds * 1000 ? "expired" : undefined;
}
