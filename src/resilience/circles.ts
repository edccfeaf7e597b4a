import type { Cell, Form } from "./claimant.ts";

/**
 * Those of the open forms that wait only for each other, circle by circle. Whoever waits for a circle without being waited for by it is not
 * in it, however old it is.
 */
export function circlesOf(open: readonly Form[]): Form[][] {
  const { after, before } = neighbours(open);
  const seen = new Set<Form>();
  // In the reverse of the order in which a walk comes to its end, whoever is waited for by others, directly or not, precedes them.
  const circles = finished(open, after)
    .toReversed()
    .map((form) => reached(form, before, seen))
    .filter((circle) => circle.length > 0);
  return circles.filter((circle) => {
    const members = new Set(circle);
    return circle.every((form) => before.get(form)?.every((older) => members.has(older)) ?? true);
  });
}

/** The open forms in groups that have nothing to do with each other. */
export function groupsOf(open: readonly Form[]): Form[][] {
  const { after, before } = neighbours(open);
  const all: Edges = new Map(
    open.map((form) => {
      const { current, kept } = form.entrant;
      const own = [current, kept].filter((one) => one !== undefined && after.has(one)) as Form[];
      return [form, [...(after.get(form) ?? []), ...(before.get(form) ?? []), ...own]];
    }),
  );
  const seen = new Set<Form>();
  return open.map((form) => reached(form, all, seen)).filter((group) => group.length > 0);
}

type Edges = Map<Form, Form[]>;

/** In a cell everyone waits for all who are older; the next older one stands for all of them. */
function neighbours(open: readonly Form[]): { after: Edges; before: Edges } {
  const after: Edges = new Map(open.map((form) => [form, []]));
  const before: Edges = new Map(open.map((form) => [form, []]));
  const cells = new Set<Cell>(open.flatMap(({ entries }) => entries.map(({ cell }) => cell)));
  for (const { entries } of cells) {
    const here = entries.map(({ form }) => form).filter((form) => after.has(form));
    for (const [nth, older] of here.entries()) {
      const younger = here[nth + 1];
      if (!younger) continue;
      after.get(older)?.push(younger);
      before.get(younger)?.push(older);
    }
  }
  return { after, before };
}

function finished(forms: readonly Form[], edges: Edges): Form[] {
  const order: Form[] = [];
  const seen = new Set<Form>();
  for (const start of forms) {
    const path: { form: Form; next: number }[] = [];
    const enter = (form: Form) => {
      if (seen.has(form)) return;
      seen.add(form);
      path.push({ form, next: 0 });
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

function reached(start: Form, edges: Edges, seen: Set<Form>): Form[] {
  const found: Form[] = [];
  const waiting = [start];
  for (let form = waiting.pop(); form; form = waiting.pop()) {
    if (seen.has(form)) continue;
    seen.add(form);
    found.push(form);
    waiting.push(...(edges.get(form) ?? []));
  }
  return found;
}
