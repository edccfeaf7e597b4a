import { type Health, HEALTHS } from "../api/health.ts";
import type { Cause, Verdict } from "./answer.ts";
import type { Known, Things } from "./things.ts";

type Flow = ReadonlyMap<string, Health>;

/** What is wrong and not explained by anything below it, by id: what is worst and troubles most comes first. */
export function rankedCauses(things: Things, flow: Flow): ReadonlyMap<string, Cause> {
  const blamed = new Set([...things.unwell].filter((known) => isToBlame(known, flow)));
  const causes = new Map<string, Cause>();
  const explained = new Set<string>();
  const blame = (known: Known) => {
    const symptoms = symptomsOf(known, blamed, things, flow);
    causes.set(known.id, { ...verdictOn(known, flow), symptoms });
    for (const { id } of [known, ...symptoms]) explained.add(id);
  };
  for (const known of blamed) blame(known);
  // In a circle each explains the other, and nobody is to blame: then whoever was unwell first.
  for (const known of [...things.unwell].sort((one, other) => compare(since(one), since(other)) || compare(one.id, other.id))) {
    if (explained.has(known.id)) continue;
    blamed.add(known);
    blame(known);
  }
  return new Map([...causes].sort(([, one], [, other]) => byWeight(one, other)));
}

function isToBlame({ own, needs }: Known, flow: Flow): boolean {
  return own?.ownFault === true || !needs.keys().some((id) => flow.has(id));
}

function byWeight(one: Cause, other: Cause): number {
  return (
    HEALTHS.indexOf(other.health) - HEALTHS.indexOf(one.health) ||
    other.symptoms.length - one.symptoms.length ||
    compare(one.since ?? NEVER, other.since ?? NEVER) ||
    compare(one.id, other.id)
  );
}

/** What is unwell above it, the nearest first, up to what has itself to blame. */
function symptomsOf(cause: Known, blamed: ReadonlySet<Known>, { known }: Things, flow: Flow): Verdict[] {
  const seen = new Set([cause.id]);
  const symptoms: Verdict[] = [];
  for (let level = [cause]; level.length > 0;) {
    const above = new Set(level.flatMap(({ neededBy }) => [...neededBy]));
    level = [...above]
      .flatMap((id) => (seen.has(id) || !flow.has(id) ? [] : (known.get(id) ?? [])))
      .filter((one) => !blamed.has(one))
      .sort((one, other) => compare(one.id, other.id));
    for (const one of level) seen.add(one.id);
    symptoms.push(...level.map((one) => verdictOn(one, flow)));
  }
  return symptoms;
}

/** What a thing needs and is not well, the worst first. */
export function unwellNeeds({ needs }: Known, { known }: Things, flow: Flow): Known[] {
  const severity = ({ id }: Known) => HEALTHS.indexOf(flow.get(id) ?? "Healthy");
  return [...needs.keys()]
    .flatMap((id) => (flow.has(id) ? (known.get(id) ?? []) : []))
    .sort((one, other) => severity(other) - severity(one) || compare(one.id, other.id));
}

export function verdictOn({ id, thing, own }: Known, flow: Flow): Verdict {
  const health = flow.get(id) ?? "Healthy";
  // What is well by its own word says nothing of why it is not after all.
  const said = own?.health === "Healthy" && health !== "Healthy" ? undefined : own;
  const { reason, message, since, remedy } = said ?? {};
  return {
    id,
    thing,
    domain: own?.domain ?? "cluster",
    health,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
    ...(since !== undefined && { since }),
    ...(remedy && { remedy }),
  };
}

/** After every time. */
const NEVER = "~";

function since({ own }: Known): string {
  return own?.since ?? NEVER;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
