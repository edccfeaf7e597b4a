import { compare } from "../util/compare.ts";
import type { Claim, ClaimRecord } from "./claim.ts";

/** A resource with claims, and its spec variants: the current and the last good one. */
export interface Claimant {
  /** The order among claimants of the same age. */
  readonly position: number;
  readonly recorded: ClaimRecord;
  /** The age of what is not recorded, in milliseconds; Infinity: younger than everything recorded. */
  readonly unrecorded: number;
  /** Lower limit for the age of all its claims. */
  readonly claimsSince: number;
  current: SpecVariant;
  kept: SpecVariant | undefined;
}

/** A claimant with one spec: the current or the last good one. */
export interface SpecVariant {
  readonly claimant: Claimant;
  readonly claims: readonly Claim[];
  /** Valid by itself: only conflicts can reject it. */
  readonly sound: boolean;
  /** Of its oldest claim. */
  readonly since: number;
  /** Where it overlaps with others. */
  readonly entries: OverlapEntry[];
  state: "open" | "accepted" | "rejected";
}

/** A value, or a part of a range, that several variants claim. One of them gets it. */
export interface Overlap {
  /** The oldest first. */
  readonly entries: OverlapEntry[];
  /** All entries before this index are rejected. */
  head: number;
  /** The accepted entry. */
  owner: OverlapEntry | undefined;
}

export interface OverlapEntry {
  readonly overlap: Overlap;
  readonly variant: SpecVariant;
  readonly claim: Claim;
  readonly since: number;
}

export function ageOf(claimant: Claimant, recorded: number | undefined): number {
  return Math.max(recorded ?? claimant.unrecorded, claimant.claimsSince);
}

/** The age of its oldest claim on any part of it. */
export function oldest(claimant: Claimant, { key, range, follows }: Claim): number {
  const { recorded } = claimant;
  return ageOf(claimant, range ? recorded.oldestPart(key, range) : recorded.points.get(follows ?? key));
}

/** The oldest claim first. The two variants of a claimant have the same age in an overlap, so they are neighbors there. */
export function byClaimAge(a: Pick<OverlapEntry, "since" | "variant">, b: Pick<OverlapEntry, "since" | "variant">): number {
  return compare(a.since, b.since) || a.variant.claimant.position - b.variant.claimant.position;
}
