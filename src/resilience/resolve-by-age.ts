import { findOverlaps } from "./overlaps.ts";
import { cyclesOf, connectedGroups } from "./cycles.ts";
import { byClaimAge, type Overlap, type Claimant, type OverlapEntry, type SpecVariant } from "./claimant.ts";

/**
 * Decides which form of each entrant may be. A form is accepted once nothing that is still possible is older than it in any cell; whatever
 * meets an accepted form is rejected. The last good form counts as held until the current one is decided, and goes when that is accepted.
 */
export function resolveByAge(claimants: readonly Claimant[]): void {
  // What turns out to be lost may have been spared for nothing, at someone else's cost.
  while (attempt(claimants) === "in circles") {
    const lost = claimants.filter(({ current, kept }) => current.state === "rejected" && kept?.state === "rejected");
    if (lost.length === 0) return;
    for (const claimant of lost) claimant.kept = undefined;
  }
}

function attempt(claimants: readonly Claimant[]): "straight" | "in circles" {
  const variants = claimants.flatMap(({ current, kept }) => (kept ? [current, kept] : [current]));
  for (const variant of variants) {
    variant.state = "open";
    variant.entries.length = 0;
  }
  findOverlaps(claimants);
  const contest = new Contest();
  for (const { current } of claimants) if (!current.sound) contest.reject(current);
  contest.run(variants);
  const circling = variants.filter(isOpen);
  for (let open = circling; open.length > 0; open = open.filter(isOpen)) {
    for (const group of connectedGroups(open)) settleCircle(contest, group);
  }
  for (const variant of variants.filter(isRival).sort(bySince)) if (isFree(variant)) contest.accept(variant);
  return circling.length > 0 ? "in circles" : "straight";
}

/** Who has what the rejected form asks for and asked earlier; in a circle whoever has it, or else who asked for it earlier. */
export function blockersOf(variant: SpecVariant): Meeting[] {
  const held = variant.entries
    .flatMap((own) => meeting(own, own.cell.holder))
    .filter(({ other }) => other.form.entrant !== variant.entrant);
  const older = held.filter(({ own, other }) => byClaimAge(other, own) < 0);
  if (older.length > 0 || !variant.sound) return older;
  return held.length > 0 ? held : variant.entries.flatMap((own) => meeting(own, olderRival(own)));
}

interface Meeting {
  readonly own: OverlapEntry;
  readonly other: OverlapEntry;
}

function meeting(own: OverlapEntry, other: OverlapEntry | undefined): Meeting[] {
  return other ? [{ own, other }] : [];
}

class Contest {
  readonly #awake: SpecVariant[] = [];

  run(variants: readonly SpecVariant[]): void {
    for (const variant of variants) this.#awake.push(variant);
    for (let variant = this.#awake.pop(); variant; variant = this.#awake.pop()) {
      if (variant.state === "open" && hasItsTurn(variant) && variant.entries.every(isForemost)) this.accept(variant);
    }
  }

  accept(variant: SpecVariant): void {
    variant.state = "accepted";
    const { current, kept } = variant.entrant;
    if (variant === current && kept && kept.state !== "rejected") this.reject(kept);
    for (const own of variant.entries) {
      own.cell.holder = own;
      for (const other of own.cell.entries) {
        if (other.form.entrant !== variant.entrant && other.form.state !== "rejected") this.reject(other.form);
      }
    }
  }

  reject(variant: SpecVariant): void {
    variant.state = "rejected";
    const { current, kept } = variant.entrant;
    if (variant === current && kept) this.#awake.push(kept);
    for (const { cell } of variant.entries) for (const first of foremost(cell)) this.#awake.push(first.form);
  }
}

/**
 * Everyone left waits for someone who waits too: two that exchange their values, or two that are each older in something. If all that have a
 * last good form could leave it at once, they do. Otherwise none of them does, and what they keep stays taken.
 */
function settleCircle(contest: Contest, open: readonly SpecVariant[]): void {
  const resources = open.filter(hasItsTurn);
  const released = open.filter((variant) => !hasItsTurn(variant));
  for (const variant of released) variant.state = "rejected";
  contest.run(resources);
  for (let left = resources.filter(isOpen); left.length > 0; left = left.filter(isOpen)) {
    for (const [first] of cyclesOf(left).map((circle) => circle.sort(byPreference))) if (first) contest.accept(first);
    contest.run([]);
  }

  const leaving = released.map(({ entrant }) => entrant.current);
  if (leaving.every(({ state }) => state === "accepted")) return;
  const lost = resources.filter((variant) => variant.state === "rejected" && variant === variant.entrant.current);
  for (const variant of open) {
    variant.state = "open";
    for (const { cell } of variant.entries) {
      cell.head = 0;
      cell.holder = undefined;
    }
  }
  for (const variant of new Set([...lost, ...leaving])) contest.reject(variant);
  contest.run(open);
}

/**
 * A rejected form that nobody is in the way of after all may be, unless it would leave a kept one for a value that an older one waits for:
 * the kept one may be what keeps that away, and then it would soon have neither.
 */
function isFree({ entrant, entries }: SpecVariant): boolean {
  if (entries.some(({ cell }) => cell.holder && cell.holder.form.entrant !== entrant)) return false;
  return entrant.kept?.state !== "accepted" || !entries.some(olderRival);
}

function olderRival(own: OverlapEntry): OverlapEntry | undefined {
  for (const other of own.cell.entries) {
    if (byClaimAge(other, own) >= 0) return undefined;
    if (isRival(other.form)) return other;
  }
  return undefined;
}

/** Lost, but not through a fault of its own. */
function isRival(variant: SpecVariant): boolean {
  return variant.sound && variant === variant.entrant.current && variant.state === "rejected";
}

function isOpen({ state }: SpecVariant): boolean {
  return state === "open";
}

function hasItsTurn(variant: SpecVariant): boolean {
  return variant === variant.entrant.current || variant.entrant.current.state === "rejected";
}

function isForemost(entry: OverlapEntry): boolean {
  return foremost(entry.cell).includes(entry);
}

/** The oldest in a cell that is still possible, with the other form of the same entrant. */
function foremost(cell: Overlap): OverlapEntry[] {
  const { entries } = cell;
  while (entries[cell.head]?.form.state === "rejected") cell.head += 1;
  const first = entries[cell.head];
  if (!first) return [];
  const second = entries[cell.head + 1];
  return second?.form.entrant === first.form.entrant ? [first, second] : [first];
}

/** What is kept goes first, so that a circle does not cost what works. */
function byPreference(a: SpecVariant, b: SpecVariant): number {
  return Number(a === a.entrant.current) - Number(b === b.entrant.current) || bySince(a, b);
}

function bySince(a: SpecVariant, b: SpecVariant): number {
  return byClaimAge({ form: a, since: a.since }, { form: b, since: b.since });
}
