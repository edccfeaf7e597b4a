import { findOverlaps } from "./overlaps.ts";
import { byClaimAge, type Overlap, type Claimant, type OverlapEntry, type SpecVariant } from "./claimant.ts";

/**
 * Decides which variant of each claimant is effective. A variant is accepted when it is the oldest possible entry of all its overlaps; then all
 * others in those overlaps are rejected. The last good variant keeps its values until the current one is accepted.
 */
export function resolveByAge(claimants: readonly Claimant[]): void {
  // A claimant that lost both variants must not have cost others theirs: try again without its last good one.
  while (attempt(claimants) === "cyclic") {
    const lost = claimants.filter(({ current, kept }) => current.state === "rejected" && kept?.state === "rejected");
    if (lost.length === 0) return;
    for (const claimant of lost) claimant.kept = undefined;
  }
}

function attempt(claimants: readonly Claimant[]): "acyclic" | "cyclic" {
  const variants = claimants.flatMap(({ current, kept }) => (kept ? [current, kept] : [current]));
  for (const variant of variants) {
    variant.state = "open";
    variant.entries.length = 0;
  }
  findOverlaps(claimants);
  const resolver = new Resolver();
  for (const { current } of claimants) if (!current.sound) resolver.reject(current);
  resolver.run(variants);
  const cyclic = variants.filter(isOpen);
  for (let open = cyclic; open.length > 0; open = open.filter(isOpen)) {
    for (const group of connectedGroups(open)) resolveCycle(resolver, group);
  }
  for (const variant of variants.filter(isLoser).sort(bySince)) if (isFree(variant)) resolver.accept(variant);
  return cyclic.length > 0 ? "cyclic" : "acyclic";
}

/** The older owners of what a rejected variant claims; in a cycle any owner, or else the older losers. */
export function blockersOf(variant: SpecVariant): Conflict[] {
  const owned = variant.entries
    .flatMap((own) => conflictWith(own, own.overlap.owner))
    .filter(({ other }) => other.variant.claimant !== variant.claimant);
  const older = owned.filter(({ own, other }) => byClaimAge(other, own) < 0);
  if (older.length > 0 || !variant.sound) return older;
  return owned.length > 0 ? owned : variant.entries.flatMap((own) => conflictWith(own, olderLoser(own)));
}

interface Conflict {
  readonly own: OverlapEntry;
  readonly other: OverlapEntry;
}

function conflictWith(own: OverlapEntry, other: OverlapEntry | undefined): Conflict[] {
  return other ? [{ own, other }] : [];
}

class Resolver {
  readonly #awake: SpecVariant[] = [];

  run(variants: readonly SpecVariant[]): void {
    for (const variant of variants) this.#awake.push(variant);
    for (let variant = this.#awake.pop(); variant; variant = this.#awake.pop()) {
      if (variant.state === "open" && isDue(variant) && variant.entries.every(isOldest)) this.accept(variant);
    }
  }

  accept(variant: SpecVariant): void {
    variant.state = "accepted";
    const { current, kept } = variant.claimant;
    if (variant === current && kept && kept.state !== "rejected") this.reject(kept);
    for (const own of variant.entries) {
      own.overlap.owner = own;
      for (const other of own.overlap.entries) {
        if (other.variant.claimant !== variant.claimant && other.variant.state !== "rejected") this.reject(other.variant);
      }
    }
  }

  reject(variant: SpecVariant): void {
    variant.state = "rejected";
    const { current, kept } = variant.claimant;
    if (variant === current && kept) this.#awake.push(kept);
    for (const { overlap } of variant.entries) for (const first of oldestPossible(overlap)) this.#awake.push(first.variant);
  }
}

/**
 * All remaining variants wait for each other: two that swap their values, or two that are each older in one value. If all claimants with a last
 * good variant can leave it at once, they do. Otherwise none of them does, and they keep their values.
 */
function resolveCycle(resolver: Resolver, open: readonly SpecVariant[]): void {
  const resources = open.filter(isDue);
  const released = open.filter((variant) => !isDue(variant));
  for (const variant of released) variant.state = "rejected";
  resolver.run(resources);
  for (let left = resources.filter(isOpen); left.length > 0; left = left.filter(isOpen)) {
    for (const [first] of cyclesOf(left).map((cycle) => cycle.sort(byPreference))) if (first) resolver.accept(first);
    resolver.run([]);
  }

  const leaving = released.map(({ claimant }) => claimant.current);
  if (leaving.every(({ state }) => state === "accepted")) return;
  const lost = resources.filter((variant) => variant.state === "rejected" && variant === variant.claimant.current);
  for (const variant of open) {
    variant.state = "open";
    for (const { overlap } of variant.entries) {
      overlap.head = 0;
      overlap.owner = undefined;
    }
  }
  for (const variant of new Set([...lost, ...leaving])) resolver.reject(variant);
  resolver.run(open);
}

/**
 * A rejected variant without a remaining conflict is accepted after all, unless it would give up an accepted last good variant for a value that an
 * older claimant waits for: it would soon lose both.
 */
function isFree({ claimant, entries }: SpecVariant): boolean {
  if (entries.some(({ overlap }) => overlap.owner && overlap.owner.variant.claimant !== claimant)) return false;
  return claimant.kept?.state !== "accepted" || !entries.some(olderLoser);
}

function olderLoser(own: OverlapEntry): OverlapEntry | undefined {
  for (const other of own.overlap.entries) {
    if (byClaimAge(other, own) >= 0) return undefined;
    if (isLoser(other.variant)) return other;
  }
  return undefined;
}

/** Valid, and rejected because of a conflict. */
function isLoser(variant: SpecVariant): boolean {
  return variant.sound && variant === variant.claimant.current && variant.state === "rejected";
}

function isOpen({ state }: SpecVariant): boolean {
  return state === "open";
}

function isDue(variant: SpecVariant): boolean {
  return variant === variant.claimant.current || variant.claimant.current.state === "rejected";
}

function isOldest(entry: OverlapEntry): boolean {
  return oldestPossible(entry.overlap).includes(entry);
}

/** The oldest entry of an overlap that is not rejected, with the other variant of its claimant. */
function oldestPossible(overlap: Overlap): OverlapEntry[] {
  const { entries } = overlap;
  while (entries[overlap.head]?.variant.state === "rejected") overlap.head += 1;
  const first = entries[overlap.head];
  if (!first) return [];
  const second = entries[overlap.head + 1];
  return second?.variant.claimant === first.variant.claimant ? [first, second] : [first];
}

/** Last good variants first, so that a cycle does not stop what works. */
function byPreference(a: SpecVariant, b: SpecVariant): number {
  return Number(a === a.claimant.current) - Number(b === b.claimant.current) || bySince(a, b);
}

function bySince(a: SpecVariant, b: SpecVariant): number {
  return byClaimAge({ variant: a, since: a.since }, { variant: b, since: b.since });
}

/** The cycles of open variants that wait only for each other. A variant that waits for a cycle, but that no member waits for, is not in it. */
function cyclesOf(open: readonly SpecVariant[]): SpecVariant[][] {
  const { after, before } = neighbors(open);
  const visited = new Set<SpecVariant>();
  // Reverse finishing order of a depth-first search (Kosaraju): a variant comes before all that wait for it.
  const cycles = finished(open, after)
    .toReversed()
    .map((variant) => reached(variant, before, visited))
    .filter((cycle) => cycle.length > 0);
  return cycles.filter((cycle) => {
    const members = new Set(cycle);
    return cycle.every((variant) => before.get(variant)?.every((older) => members.has(older)) ?? true);
  });
}

function connectedGroups(open: readonly SpecVariant[]): SpecVariant[][] {
  const { after, before } = neighbors(open);
  const all: Edges = new Map(
    open.map((variant) => {
      const { current, kept } = variant.claimant;
      const own = [current, kept].filter((one) => one !== undefined && after.has(one)) as SpecVariant[];
      return [variant, [...(after.get(variant) ?? []), ...(before.get(variant) ?? []), ...own]];
    }),
  );
  const visited = new Set<SpecVariant>();
  return open.map((variant) => reached(variant, all, visited)).filter((group) => group.length > 0);
}

type Edges = Map<SpecVariant, SpecVariant[]>;

/** In an overlap each entry waits for all older ones; an edge to the next older one is enough. */
function neighbors(open: readonly SpecVariant[]): { after: Edges; before: Edges } {
  const after: Edges = new Map(open.map((variant) => [variant, []]));
  const before: Edges = new Map(open.map((variant) => [variant, []]));
  const overlaps = new Set<Overlap>(open.flatMap(({ entries }) => entries.map(({ overlap }) => overlap)));
  for (const { entries } of overlaps) {
    const here = entries.map(({ variant }) => variant).filter((variant) => after.has(variant));
    for (const [nth, older] of here.entries()) {
      const younger = here[nth + 1];
      if (!younger) continue;
      after.get(older)?.push(younger);
      before.get(younger)?.push(older);
    }
  }
  return { after, before };
}

function finished(variants: readonly SpecVariant[], edges: Edges): SpecVariant[] {
  const order: SpecVariant[] = [];
  const visited = new Set<SpecVariant>();
  for (const start of variants) {
    const path: { variant: SpecVariant; next: number }[] = [];
    const enter = (variant: SpecVariant) => {
      if (visited.has(variant)) return;
      visited.add(variant);
      path.push({ variant, next: 0 });
    };
    enter(start);
    for (let here = path.at(-1); here; here = path.at(-1)) {
      const onward = edges.get(here.variant)?.[here.next++];
      if (onward) enter(onward);
      else {
        order.push(here.variant);
        path.pop();
      }
    }
  }
  return order;
}

function reached(start: SpecVariant, edges: Edges, visited: Set<SpecVariant>): SpecVariant[] {
  const found: SpecVariant[] = [];
  const waiting = [start];
  for (let variant = waiting.pop(); variant; variant = waiting.pop()) {
    if (visited.has(variant)) continue;
    visited.add(variant);
    found.push(variant);
    waiting.push(...(edges.get(variant) ?? []));
  }
  return found;
}
