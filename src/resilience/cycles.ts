import type { Overlap, SpecVariant } from "./claimant.ts";

/** The cycles of open variants that wait only for each other. A variant that waits for a cycle, but that no member waits for, is not in it. */
export function cyclesOf(open: readonly SpecVariant[]): SpecVariant[][] {
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

/** The connected components of the open variants. */
export function connectedGroups(open: readonly SpecVariant[]): SpecVariant[][] {
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
