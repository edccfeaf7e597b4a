import type { Range } from "../ip/range.ts";
import type { Claim } from "./claim.ts";
import { ageOf, byAge, type Cell, type Entrant, type Entry, type Form, oldest } from "./form.ts";

interface Asked {
  readonly form: Form;
  readonly claim: Claim;
}

type AskedRange = Asked & { readonly claim: Claim & { readonly range: Range } };

/** Finds where forms of different entrants meet, and puts those who do in order of age. */
export function layCells(entrants: readonly Entrant[]): void {
  const values = new Map<string, Asked[]>();
  const ranges = new Map<string, AskedRange[]>();
  for (const { current, kept } of entrants) {
    for (const form of kept ? [current, kept] : [current]) {
      for (const claim of form.claims) {
        if (hasRange(claim)) at(ranges, claim.key).push({ form, claim });
        else at(values, claim.key).push({ form, claim });
      }
    }
  }
  for (const asked of values.values()) {
    lay(asked, (form, claim) => oldest(form.entrant, claim));
  }
  for (const [key, asked] of ranges) layParts(key, asked);
}

/** Walks along the addresses; between two places where anything begins or ends, all have the same ages. */
function layParts(key: string, asked: readonly AskedRange[]): void {
  const entrants = new Set(asked.map(({ form }) => form.entrant));
  if (entrants.size < 2) return;
  const steps: { at: bigint; apply: () => void }[] = [];
  const between = ({ first, last }: Range, enter: () => void, leave: () => void) =>
    steps.push({ at: position(first), apply: enter }, { at: position(last) + 1n, apply: leave });

  const here = new Set<AskedRange>();
  for (const one of asked) {
    between(
      one.claim.range,
      () => here.add(one),
      () => here.delete(one),
    );
  }
  const ages = new Map<Entrant, number[]>();
  for (const entrant of entrants) {
    const held: number[] = [];
    ages.set(entrant, held);
    for (const { range, since } of entrant.recorded.parts.get(key) ?? []) {
      between(
        range,
        () => held.push(since),
        () => held.splice(held.indexOf(since), 1),
      );
    }
  }

  steps.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  for (const [nth, { at, apply }] of steps.entries()) {
    apply();
    if (here.size < 2 || steps[nth + 1]?.at === at) continue;
    lay(here, ({ entrant }) => {
      const held = ages.get(entrant) ?? [];
      return ageOf(entrant, held.length === 0 ? undefined : Math.min(...held));
    });
  }
}

function lay(asked: Iterable<Asked>, since: (form: Form, claim: Claim) => number): void {
  const cell: Cell = { entries: [], head: 0, holder: undefined };
  const entries = new Map<Form, Entry>();
  for (const { form, claim } of asked) {
    if (!entries.has(form)) entries.set(form, { cell, form, claim, since: since(form, claim) });
  }
  const [first, ...others] = entries.keys();
  if (!others.some(({ entrant }) => entrant !== first?.entrant)) return;
  cell.entries.push(...entries.values().toArray().sort(byAge));
  for (const entry of cell.entries) entry.form.entries.push(entry);
}

function position({ family, value }: Range["first"]): bigint {
  return family === 4 ? value : value + (1n << 32n);
}

function hasRange(claim: Claim): claim is Claim & { readonly range: Range } {
  return claim.range !== undefined;
}

function at<T>(groups: Map<string, T[]>, key: string): T[] {
  const group = groups.get(key) ?? [];
  if (group.length === 0) groups.set(key, group);
  return group;
}
