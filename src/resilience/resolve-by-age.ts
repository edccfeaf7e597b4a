import { layCells } from "./overlaps.ts";
import { circlesOf, groupsOf } from "./circles.ts";
import { byAge, type Cell, type Entrant, type Entry, type Form } from "./claimant.ts";

/**
 * Decides which form of each entrant may be. A form is accepted once nothing that is still possible is older than it in any cell; whatever
 * meets an accepted form is rejected. The last good form counts as held until the current one is decided, and goes when that is accepted.
 */
export function decide(entrants: readonly Entrant[]): void {
  // What turns out to be lost may have been spared for nothing, at someone else's cost.
  while (attempt(entrants) === "in circles") {
    const lost = entrants.filter(({ current, kept }) => current.state === "rejected" && kept?.state === "rejected");
    if (lost.length === 0) return;
    for (const entrant of lost) entrant.kept = undefined;
  }
}

function attempt(entrants: readonly Entrant[]): "straight" | "in circles" {
  const forms = entrants.flatMap(({ current, kept }) => (kept ? [current, kept] : [current]));
  for (const form of forms) {
    form.state = "open";
    form.entries.length = 0;
  }
  layCells(entrants);
  const contest = new Contest();
  for (const { current } of entrants) if (!current.sound) contest.reject(current);
  contest.run(forms);
  const circling = forms.filter(isOpen);
  for (let open = circling; open.length > 0; open = open.filter(isOpen)) {
    for (const group of groupsOf(open)) settleCircle(contest, group);
  }
  for (const form of forms.filter(isRival).sort(bySince)) if (isFree(form)) contest.accept(form);
  return circling.length > 0 ? "in circles" : "straight";
}

/** Who has what the rejected form asks for and asked earlier; in a circle whoever has it, or else who asked for it earlier. */
export function inTheWayOf(form: Form): Meeting[] {
  const held = form.entries.flatMap((own) => meeting(own, own.cell.holder)).filter(({ other }) => other.form.entrant !== form.entrant);
  const older = held.filter(({ own, other }) => byAge(other, own) < 0);
  if (older.length > 0 || !form.sound) return older;
  return held.length > 0 ? held : form.entries.flatMap((own) => meeting(own, olderRival(own)));
}

interface Meeting {
  readonly own: Entry;
  readonly other: Entry;
}

function meeting(own: Entry, other: Entry | undefined): Meeting[] {
  return other ? [{ own, other }] : [];
}

class Contest {
  readonly #awake: Form[] = [];

  run(forms: readonly Form[]): void {
    for (const form of forms) this.#awake.push(form);
    for (let form = this.#awake.pop(); form; form = this.#awake.pop()) {
      if (form.state === "open" && hasItsTurn(form) && form.entries.every(isForemost)) this.accept(form);
    }
  }

  accept(form: Form): void {
    form.state = "accepted";
    const { current, kept } = form.entrant;
    if (form === current && kept && kept.state !== "rejected") this.reject(kept);
    for (const own of form.entries) {
      own.cell.holder = own;
      for (const other of own.cell.entries) {
        if (other.form.entrant !== form.entrant && other.form.state !== "rejected") this.reject(other.form);
      }
    }
  }

  reject(form: Form): void {
    form.state = "rejected";
    const { current, kept } = form.entrant;
    if (form === current && kept) this.#awake.push(kept);
    for (const { cell } of form.entries) for (const first of foremost(cell)) this.#awake.push(first.form);
  }
}

/**
 * Everyone left waits for someone who waits too: two that exchange their values, or two that are each older in something. If all that have a
 * last good form could leave it at once, they do. Otherwise none of them does, and what they keep stays taken.
 */
function settleCircle(contest: Contest, open: readonly Form[]): void {
  const contenders = open.filter(hasItsTurn);
  const released = open.filter((form) => !hasItsTurn(form));
  for (const form of released) form.state = "rejected";
  contest.run(contenders);
  for (let left = contenders.filter(isOpen); left.length > 0; left = left.filter(isOpen)) {
    for (const [first] of circlesOf(left).map((circle) => circle.sort(byPreference))) if (first) contest.accept(first);
    contest.run([]);
  }

  const leaving = released.map(({ entrant }) => entrant.current);
  if (leaving.every(({ state }) => state === "accepted")) return;
  const lost = contenders.filter((form) => form.state === "rejected" && form === form.entrant.current);
  for (const form of open) {
    form.state = "open";
    for (const { cell } of form.entries) {
      cell.head = 0;
      cell.holder = undefined;
    }
  }
  for (const form of new Set([...lost, ...leaving])) contest.reject(form);
  contest.run(open);
}

/**
 * A rejected form that nobody is in the way of after all may be, unless it would leave a kept one for a value that an older one waits for:
 * the kept one may be what keeps that away, and then it would soon have neither.
 */
function isFree({ entrant, entries }: Form): boolean {
  if (entries.some(({ cell }) => cell.holder && cell.holder.form.entrant !== entrant)) return false;
  return entrant.kept?.state !== "accepted" || !entries.some(olderRival);
}

function olderRival(own: Entry): Entry | undefined {
  for (const other of own.cell.entries) {
    if (byAge(other, own) >= 0) return undefined;
    if (isRival(other.form)) return other;
  }
  return undefined;
}

/** Lost, but not through a fault of its own. */
function isRival(form: Form): boolean {
  return form.sound && form === form.entrant.current && form.state === "rejected";
}

function isOpen({ state }: Form): boolean {
  return state === "open";
}

function hasItsTurn(form: Form): boolean {
  return form === form.entrant.current || form.entrant.current.state === "rejected";
}

function isForemost(entry: Entry): boolean {
  return foremost(entry.cell).includes(entry);
}

/** The oldest in a cell that is still possible, with the other form of the same entrant. */
function foremost(cell: Cell): Entry[] {
  const { entries } = cell;
  while (entries[cell.head]?.form.state === "rejected") cell.head += 1;
  const first = entries[cell.head];
  if (!first) return [];
  const second = entries[cell.head + 1];
  return second?.form.entrant === first.form.entrant ? [first, second] : [first];
}

/** What is kept goes first, so that a circle does not cost what works. */
function byPreference(a: Form, b: Form): number {
  return Number(a === a.entrant.current) - Number(b === b.entrant.current) || bySince(a, b);
}

function bySince(a: Form, b: Form): number {
  return byAge({ form: a, since: a.since }, { form: b, since: b.since });
}
