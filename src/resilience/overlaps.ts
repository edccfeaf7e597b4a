import { compare } from "../util/compare.ts";
import type { Range } from "../ip/range.ts";
import type { Claim } from "./claim.ts";
import { ageOf, byClaimAge, type Overlap, type Claimant, type OverlapEntry, type SpecVariant, oldest } from "./claimant.ts";

interface VariantClaim {
  readonly variant: SpecVariant;
  readonly claim: Claim;
}

type VariantRange = VariantClaim & { readonly claim: Claim & { readonly range: Range } };

/** Finds the overlaps between variants of different claimants, and sorts the entries of each by age. */
export function findOverlaps(claimants: readonly Claimant[]): void {
  const values = new Map<string, VariantClaim[]>();
  const ranges = new Map<string, VariantRange[]>();
  for (const { current, kept } of claimants) {
    for (const variant of kept ? [current, kept] : [current]) {
      for (const claim of variant.claims) {
        if (hasRange(claim)) at(ranges, claim.key).push({ variant, claim });
        else at(values, claim.key).push({ variant, claim });
      }
    }
  }
  for (const wanted of values.values()) addValueOverlaps(wanted);
  for (const [key, wanted] of ranges) addRangeOverlaps(key, wanted);
}

/** Each claimant that shares the value has its own overlap with those that want it alone. */
function addValueOverlaps(wanted: readonly VariantClaim[]): void {
  const sharing = wanted.filter(({ claim }) => claim.shared);
  if (sharing.length === 0) return addOverlap(wanted, sinceOf);
  const alone = wanted.filter(({ claim }) => !claim.shared);
  if (alone.length === 0) return undefined;
  for (const sharers of Map.groupBy(sharing, ({ variant }) => variant.claimant).values()) addOverlap([...alone, ...sharers], sinceOf);
}

function sinceOf({ claimant }: SpecVariant, claim: Claim): number {
  return oldest(claimant, claim);
}

interface Boundary {
  readonly at: bigint;
  readonly claimant: Claimant;
  readonly is: "begins" | "ends" | "ages";
  readonly apply: () => void;
}

/**
 * Sweeps over the addresses. Between two boundaries the claims and their ages do not change. A section whose claims are a subset of those of a
 * neighboring section decides nothing new, so only the largest sections become overlaps.
 */
function addRangeOverlaps(key: string, wanted: readonly VariantRange[]): void {
  const claimants = new Set(wanted.map(({ variant }) => variant.claimant));
  if (claimants.size < 2) return;
  const sweep = new Sweep();
  for (const one of wanted) sweep.addClaim(one);
  for (const claimant of claimants) {
    for (const part of claimant.recorded.parts.get(key) ?? []) sweep.addRecord(claimant, part);
  }

  let isNew = false;
  for (const boundaries of sweep.boundaries()) {
    if (isNew && boundaries.some((boundary) => sweep.endsSomething(boundary))) {
      if (sweep.here.size > 1) addOverlap(sweep.here, ({ claimant }) => sweep.ageOf(claimant));
      isNew = false;
    }
    const before = new Map(
      boundaries.filter((boundary) => sweep.isHere(boundary.claimant)).map(({ claimant }) => [claimant, sweep.ageOf(claimant)]),
    );
    for (const { apply } of boundaries) apply();
    isNew ||= boundaries.some(
      ({ claimant, is }) => is === "begins" || (sweep.isHere(claimant) && before.get(claimant) !== sweep.ageOf(claimant)),
    );
  }
}

class Sweep {
  readonly here = new Set<VariantRange>();
  readonly #boundaries: Boundary[] = [];
  readonly #claiming = new Map<Claimant, number>();
  readonly #ages = new Map<Claimant, number[]>();

  addClaim(one: VariantRange): void {
    const { claimant } = one.variant;
    const count = (by: number) => this.#claiming.set(claimant, (this.#claiming.get(claimant) ?? 0) + by);
    const enter = () => {
      this.here.add(one);
      count(1);
    };
    const leave = () => {
      this.here.delete(one);
      count(-1);
    };
    const { first, last } = one.claim.range;
    this.#boundaries.push(
      { at: position(first), claimant, is: "begins", apply: enter },
      { at: position(last) + 1n, claimant, is: "ends", apply: leave },
    );
  }

  addRecord(claimant: Claimant, { range, since }: { readonly range: Range; readonly since: number }): void {
    const ages = this.#ages.get(claimant) ?? [];
    this.#ages.set(claimant, ages);
    const begin = () => ages.push(since);
    const end = () => ages.splice(ages.indexOf(since), 1);
    this.#boundaries.push(
      { at: position(range.first), claimant, is: "ages", apply: begin },
      { at: position(range.last) + 1n, claimant, is: "ages", apply: end },
    );
  }

  /** All boundaries, grouped by position. */
  *boundaries(): Generator<readonly Boundary[]> {
    this.#boundaries.sort((a, b) => compare(a.at, b.at));
    for (let from = 0; from < this.#boundaries.length;) {
      const { at } = this.#boundaries[from] as Boundary;
      let to = from + 1;
      while (this.#boundaries[to]?.at === at) to += 1;
      yield this.#boundaries.slice(from, to);
      from = to;
    }
  }

  isHere(claimant: Claimant): boolean {
    return (this.#claiming.get(claimant) ?? 0) > 0;
  }

  ageOf(claimant: Claimant): number {
    const ages = this.#ages.get(claimant) ?? [];
    return ageOf(claimant, ages.length === 0 ? undefined : Math.min(...ages));
  }

  /** Whether a claim ends at this boundary, or changes its age. */
  endsSomething({ claimant, is }: Boundary): boolean {
    return is === "ends" || (is === "ages" && this.isHere(claimant));
  }
}

function addOverlap(wanted: Iterable<VariantClaim>, since: (variant: SpecVariant, claim: Claim) => number): void {
  const overlap: Overlap = { entries: [], head: 0, owner: undefined };
  const entries = new Map<SpecVariant, OverlapEntry>();
  for (const { variant, claim } of wanted) {
    if (!entries.has(variant)) entries.set(variant, { overlap, variant, claim, since: since(variant, claim) });
  }
  const [first, ...others] = entries.keys();
  if (!others.some(({ claimant }) => claimant !== first?.claimant)) return;
  overlap.entries.push(...entries.values().toArray().sort(byClaimAge));
  for (const entry of overlap.entries) entry.variant.entries.push(entry);
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
