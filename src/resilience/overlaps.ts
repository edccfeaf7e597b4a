import { compare } from "../util/compare.ts";
import type { Range } from "../ip/range.ts";
import type { Claim } from "./claim.ts";
import { ageOf, byClaimAge, type Overlap, type Claimant, type OverlapEntry, type SpecVariant, oldest } from "./claimant.ts";

interface Asked {
  readonly form: SpecVariant;
  readonly claim: Claim;
}

type AskedRange = Asked & { readonly claim: Claim & { readonly range: Range } };

/** Finds where forms of different entrants meet, and puts those who do in order of age. */
export function findOverlaps(claimants: readonly Claimant[]): void {
  const values = new Map<string, Asked[]>();
  const ranges = new Map<string, AskedRange[]>();
  for (const { current, kept } of claimants) {
    for (const variant of kept ? [current, kept] : [current]) {
      for (const claim of variant.claims) {
        if (hasRange(claim)) at(ranges, claim.key).push({ form: variant, claim });
        else at(values, claim.key).push({ form: variant, claim });
      }
    }
  }
  for (const asked of values.values()) layValue(asked);
  for (const [key, asked] of ranges) layParts(key, asked);
}

/** Each entrant that shares the value meets those that want it alone, in a cell of its own. */
function layValue(asked: readonly Asked[]): void {
  const sharing = asked.filter(({ claim }) => claim.shared);
  if (sharing.length === 0) return lay(asked, sinceOf);
  const alone = asked.filter(({ claim }) => !claim.shared);
  if (alone.length === 0) return undefined;
  for (const sharers of Map.groupBy(sharing, ({ form }) => form.entrant).values()) lay([...alone, ...sharers], sinceOf);
}

function sinceOf({ entrant }: SpecVariant, claim: Claim): number {
  return oldest(entrant, claim);
}

/** Something begins or ends here: an entrant's asking, or a part that its record knows. */
interface Turn {
  readonly at: bigint;
  readonly entrant: Claimant;
  readonly is: "asks" | "stops" | "ages";
  readonly apply: () => void;
}

/**
 * Walks along the addresses; between two places where anything begins or ends, all have the same ages. Where only fewer ask than just before,
 * or than just after, nothing new is decided: there is a cell where most ask.
 */
function layParts(key: string, asked: readonly AskedRange[]): void {
  const claimants = new Set(asked.map(({ form }) => form.entrant));
  if (claimants.size < 2) return;
  const line = new Line();
  for (const one of asked) line.ask(one);
  for (const claimant of claimants) {
    for (const part of claimant.recorded.parts.get(key) ?? []) line.record(claimant, part);
  }

  let isNew = false;
  for (const turns of line.places()) {
    if (isNew && turns.some((turn) => line.takes(turn))) {
      if (line.here.size > 1) lay(line.here, ({ entrant }) => line.ageOf(entrant));
      isNew = false;
    }
    const before = new Map(turns.filter((turn) => line.isHere(turn.entrant)).map(({ entrant }) => [entrant, line.ageOf(entrant)]));
    for (const { apply } of turns) apply();
    isNew ||= turns.some(({ entrant, is }) => is === "asks" || (line.isHere(entrant) && before.get(entrant) !== line.ageOf(entrant)));
  }
}

class Line {
  /** What is asked for at the place that has been reached. */
  readonly here = new Set<AskedRange>();
  readonly #turns: Turn[] = [];
  readonly #asking = new Map<Claimant, number>();
  readonly #ages = new Map<Claimant, number[]>();

  ask(one: AskedRange): void {
    const { entrant } = one.form;
    const count = (by: number) => this.#asking.set(entrant, (this.#asking.get(entrant) ?? 0) + by);
    const enter = () => {
      this.here.add(one);
      count(1);
    };
    const leave = () => {
      this.here.delete(one);
      count(-1);
    };
    const { first, last } = one.claim.range;
    this.#turns.push(
      { at: position(first), entrant, is: "asks", apply: enter },
      { at: position(last) + 1n, entrant, is: "stops", apply: leave },
    );
  }

  record(claimant: Claimant, { range, since }: { readonly range: Range; readonly since: number }): void {
    const held = this.#ages.get(claimant) ?? [];
    this.#ages.set(claimant, held);
    const begin = () => held.push(since);
    const end = () => held.splice(held.indexOf(since), 1);
    this.#turns.push(
      { at: position(range.first), entrant: claimant, is: "ages", apply: begin },
      { at: position(range.last) + 1n, entrant: claimant, is: "ages", apply: end },
    );
  }

  /** What begins or ends, place by place. */
  *places(): Generator<readonly Turn[]> {
    this.#turns.sort((a, b) => compare(a.at, b.at));
    for (let from = 0; from < this.#turns.length;) {
      const { at } = this.#turns[from] as Turn;
      let to = from + 1;
      while (this.#turns[to]?.at === at) to += 1;
      yield this.#turns.slice(from, to);
      from = to;
    }
  }

  isHere(claimant: Claimant): boolean {
    return (this.#asking.get(claimant) ?? 0) > 0;
  }

  ageOf(claimant: Claimant): number {
    const held = this.#ages.get(claimant) ?? [];
    return ageOf(claimant, held.length === 0 ? undefined : Math.min(...held));
  }

  /** Whether after this turn not all that is here is here any more, and as old as it was. */
  takes({ entrant, is }: Turn): boolean {
    return is === "stops" || (is === "ages" && this.isHere(entrant));
  }
}

function lay(asked: Iterable<Asked>, since: (variant: SpecVariant, claim: Claim) => number): void {
  const cell: Overlap = { entries: [], head: 0, holder: undefined };
  const entries = new Map<SpecVariant, OverlapEntry>();
  for (const { form, claim } of asked) {
    if (!entries.has(form)) entries.set(form, { cell, form, claim, since: since(form, claim) });
  }
  const [first, ...others] = entries.keys();
  if (!others.some(({ entrant }) => entrant !== first?.entrant)) return;
  cell.entries.push(...entries.values().toArray().sort(byClaimAge));
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
