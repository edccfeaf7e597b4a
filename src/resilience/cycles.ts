import type { Overlap, SpecVariant } from "./claimant.ts";

/**
 * Those of the open forms that wait only for each other, circle by circle. Whoever waits for a circle without being waited for by it is not
 * in it, however old it is.
 */
export function cyclesOf(open: readonly SpecVariant[]): SpecVariant[][] {
  const { after, before } = neighbors(open);
  const seen = new Set<SpecVariant>();
  // In the reverse of the order in which a walk comes to its end, whoever is waited for by others, directly or not, precedes them.
  const circles = finished(open, after)
    .toReversed()
    .map((variant) => reached(variant, before, seen))
    .filter((circle) => circle.length > 0);
  return circles.filter((circle) => {
    const members = new Set(circle);
    return circle.every((variant) => before.get(variant)?.every((older) => members.has(older)) ?? true);
  });
}

/** The open forms in groups that have nothing to do with each other. */
export function connectedGroups(open: readonly SpecVariant[]): SpecVariant[][] {
  const { after, before } = neighbors(open);
  const all: Edges = new Map(
    open.map((variant) => {
      const { current, kept } = variant.entrant;
      const own = [current, kept].filter((one) => one !== undefined && after.has(one)) as SpecVariant[];
      return [variant, [...(after.get(variant) ?? []), ...(before.get(variant) ?? []), ...own]];
    }),
  );
  const seen = new Set<SpecVariant>();
  return open.map((variant) => reached(variant, all, seen)).filter((group) => group.length > 0);
}

type Edges = Map<SpecVariant, SpecVariant[]>;

/** In a cell everyone waits for all who are older; the next older one represents all of them. */
function neighbors(open: readonly SpecVariant[]): { after: Edges; before: Edges } {
  const after: Edges = new Map(open.map((variant) => [variant, []]));
  const before: Edges = new Map(open.map((variant) => [variant, []]));
  const cells = new Set<Overlap>(open.flatMap(({ entries }) => entries.map(({ cell }) => cell)));
  for (const { entries } of cells) {
    const here = entries.map(({ form }) => form).filter((variant) => after.has(variant));
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
  const seen = new Set<SpecVariant>();
  for (const start of variants) {
    const path: { form: SpecVariant; next: number }[] = [];
    const enter = (variant: SpecVariant) => {
      if (seen.has(variant)) return;
      seen.add(variant);
      path.push({ form: variant, next: 0 });
    };
    enter(start);
    for (let here = path.at(-1); here; here = path.at(-1)) {
      const onward = edges.get(here.form)?.[here.next++];
      if (onward) enter(onward);
      else {
        order.push(here.form);
        path.pop();
      }
    }
  }
  return order;
}

function reached(start: SpecVariant, edges: Edges, seen: Set<SpecVariant>): SpecVariant[] {
  const found: SpecVariant[] = [];
  const waiting = [start];
  for (let variant = waiting.pop(); variant; variant = waiting.pop()) {
    if (seen.has(variant)) continue;
    seen.add(variant);
    found.push(variant);
    waiting.push(...(edges.get(variant) ?? []));
  }
  return found;
}
