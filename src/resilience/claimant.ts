import { compare } from "../util/compare.ts";
import type { Claim, ClaimRecord } from "./claim.ts";

/** One who asks, with the forms in which it would be content. */
export interface Claimant {
  /** The order among entrants of the same age. */
  readonly place: number;
  readonly recorded: ClaimRecord;
  /** The age of what is not recorded, in milliseconds; Infinity: younger than everything recorded. */
  readonly unrecorded: number;
  /** It asks here only since then, whatever the record says. */
  readonly asksSince: number;
  current: SpecVariant;
  kept: SpecVariant | undefined;
}

/** An entrant with one spec: as it is now, or as it was last good. */
export interface SpecVariant {
  readonly entrant: Claimant;
  readonly claims: readonly Claim[];
  /** Sound in itself, so that only others can be in its way. */
  readonly sound: boolean;
  /** Of its oldest claim. */
  readonly since: number;
  /** Where it meets others. */
  readonly entries: OverlapEntry[];
  state: "open" | "accepted" | "rejected";
}

/** A single value, or a part of a range, that several ask for. Only one of them can have it. */
export interface Overlap {
  /** The oldest first. */
  readonly entries: OverlapEntry[];
  /** Nothing before this entry is open or accepted. */
  head: number;
  /** Who has it. */
  holder: OverlapEntry | undefined;
}

export interface OverlapEntry {
  readonly cell: Overlap;
  readonly form: SpecVariant;
  readonly claim: Claim;
  readonly since: number;
}

export function ageOf(claimant: Claimant, recorded: number | undefined): number {
  return Math.max(recorded ?? claimant.unrecorded, claimant.asksSince);
}

/** Since when the entrant asks for any of it. */
export function oldest(claimant: Claimant, { key, range, follows }: Claim): number {
  const { recorded } = claimant;
  return ageOf(claimant, range ? recorded.oldestPart(key, range) : recorded.points.get(follows ?? key));
}

/** Whoever asked earlier first. The two forms of an entrant are as old as each other in any cell, so that they stand side by side there. */
export function byClaimAge(a: Pick<OverlapEntry, "since" | "form">, b: Pick<OverlapEntry, "since" | "form">): number {
  return compare(a.since, b.since) || a.form.entrant.place - b.form.entrant.place;
}
