import type { Claim, Recorded } from "./claim.ts";

/** One who asks, with the forms in which it would be content. */
export interface Entrant {
  /** The order among entrants of the same age. */
  readonly place: number;
  readonly recorded: Recorded;
  /** The age of what is not recorded, in milliseconds; Infinity: younger than everything recorded. */
  readonly unrecorded: number;
  /** It asks here only since then, whatever the record says. */
  readonly asksSince: number;
  current: Form;
  kept: Form | undefined;
}

/** An entrant with one spec: as it is now, or as it was last good. */
export interface Form {
  readonly entrant: Entrant;
  readonly claims: readonly Claim[];
  /** Sound in itself, so that only others can be in its way. */
  readonly sound: boolean;
  /** Of its oldest claim. */
  readonly since: number;
  /** Where it meets others. */
  readonly entries: Entry[];
  state: "open" | "accepted" | "rejected";
}

/** A single value, or a part of a range, that several ask for. Only one of them can have it. */
export interface Cell {
  /** The oldest first. */
  readonly entries: Entry[];
  /** Nothing before this entry is open or accepted. */
  head: number;
  /** Who has it. */
  holder: Entry | undefined;
}

export interface Entry {
  readonly cell: Cell;
  readonly form: Form;
  readonly claim: Claim;
  readonly since: number;
}

export function ageOf(entrant: Entrant, recorded: number | undefined): number {
  return Math.max(recorded ?? entrant.unrecorded, entrant.asksSince);
}

/** Since when the entrant asks for any of it. */
export function oldest(entrant: Entrant, { key, range, follows }: Claim): number {
  const { recorded } = entrant;
  return ageOf(entrant, range ? recorded.oldestPart(key, range) : recorded.points.get(follows ?? key));
}

/** Whoever asked earlier first. The two forms of an entrant are as old as each other in any cell, so that they stand side by side there. */
export function byAge(a: Pick<Entry, "since" | "form">, b: Pick<Entry, "since" | "form">): number {
  // Two that are not recorded are both Infinity old, and their difference is not a number.
  if (a.since !== b.since) return a.since < b.since ? -1 : 1;
  return a.form.entrant.place - b.form.entrant.place;
}
