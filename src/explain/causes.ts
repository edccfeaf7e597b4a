import { type Health, HEALTHS, worseHealth } from "../api/health.ts";
import { compare } from "../util/compare.ts";
import type { Cause, ComponentHealth } from "./answer.ts";
import type { ComponentState, Components } from "./components.ts";

type Flow = ReadonlyMap<string, Health>;

/** The unhealthy components that no dependency explains, by id: the worst and those with most effects first. */
export function rankedCauses(components: Components, flow: Flow): ReadonlyMap<string, Cause> {
  const blamed = new Set([...components.unhealthy].filter((known) => isToBlame(known, flow)));
  const causes = new Map<string, Cause>();
  const explained = new Set<string>();
  const blame = (known: ComponentState) => {
    const symptoms = symptomsOf(known, blamed, components, flow);
    causes.set(known.id, { ...healthOf(known, flow), symptoms });
    for (const { id } of [known, ...symptoms]) explained.add(id);
  };
  for (const known of blamed) blame(known);
  // In a cycle each explains the other: take the one that was unhealthy first as the cause.
  for (const known of [...components.unhealthy].sort((one, other) => compare(since(one), since(other)) || compare(one.id, other.id))) {
    if (explained.has(known.id)) continue;
    blamed.add(known);
    blame(known);
  }
  return new Map([...causes].sort(([, one], [, other]) => byWeight(one, other)));
}

function isToBlame({ own, dependencies }: ComponentState, flow: Flow): boolean {
  return own?.ownFault === true || !dependencies.keys().some((id) => flow.has(id));
}

function byWeight(one: Cause, other: Cause): number {
  return (
    HEALTHS.indexOf(other.health) - HEALTHS.indexOf(one.health) ||
    other.symptoms.length - one.symptoms.length ||
    compare(one.since ?? NEVER, other.since ?? NEVER) ||
    compare(one.id, other.id)
  );
}

/** The unhealthy components above it, the nearest first, up to other causes. */
function symptomsOf(cause: ComponentState, blamed: ReadonlySet<ComponentState>, { known }: Components, flow: Flow): ComponentHealth[] {
  const visited = new Set([cause.id]);
  const symptoms: ComponentHealth[] = [];
  for (let level = [cause]; level.length > 0;) {
    const above = new Set(level.flatMap(({ dependents }) => [...dependents]));
    level = [...above]
      .flatMap((id) => (visited.has(id) || !flow.has(id) ? [] : (known.get(id) ?? [])))
      .filter((one) => !blamed.has(one))
      .sort((one, other) => compare(one.id, other.id));
    for (const one of level) visited.add(one.id);
    symptoms.push(...level.map((one) => healthOf(one, flow)));
  }
  return symptoms;
}

/** The unhealthy dependencies of a component, the worst first. */
export function unhealthyDependencies({ dependencies }: ComponentState, { known }: Components, flow: Flow): ComponentState[] {
  const severity = ({ id }: ComponentState) => HEALTHS.indexOf(flow.get(id) ?? "Healthy");
  return [...dependencies.keys()]
    .flatMap((id) => (flow.has(id) ? (known.get(id) ?? []) : []))
    .sort((one, other) => severity(other) - severity(one) || compare(one.id, other.id));
}

export function healthOf({ id, component, own }: ComponentState, flow: Flow): ComponentHealth {
  const health = flow.get(id) ?? "Healthy";
  // A component that is healthy by itself has no reason of its own.
  const statements = own?.health === "Healthy" && health !== "Healthy" ? undefined : own;
  const { reason, message, since, fix } = statements ?? {};
  return {
    id,
    component,
    domain: own?.domain ?? "cluster",
    health,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
    ...(since !== undefined && { since }),
    ...(fix && { fix }),
  };
}

/** After every time. */
const NEVER = "~";

function since({ own }: ComponentState): string {
  return own?.since ?? NEVER;
}

/**
 * The health of all unhealthy components, by id: their own combined with that of their dependencies. Starts from components that are unhealthy by
 * themselves and goes up, so the cost grows with the problems, not with the cluster. Health only gets worse on the way, so cycles terminate.
 */
export function propagateHealth({ known, unhealthy }: Components): Map<string, Health> {
  const flow = new Map<string, Health>();
  const waiting = new Set(unhealthy);
  for (const one of waiting) {
    waiting.delete(one);
    const health = combinedHealth(one, flow);
    if (health === (flow.get(one.id) ?? "Healthy")) continue;
    flow.set(one.id, health);
    for (const id of one.dependents) {
      const above = known.get(id);
      if (above) waiting.add(above);
    }
  }
  return flow;
}

function combinedHealth({ own, dependencies }: ComponentState, flow: ReadonlyMap<string, Health>): Health {
  let health = own?.health ?? "Healthy";
  const alternatives: Health[] = [];
  for (const [id, { as }] of dependencies) {
    const dependency = flow.get(id) ?? "Healthy";
    if (as === "alternative") alternatives.push(dependency);
    else if (dependency !== "Healthy") health = worseHealth(health, as === "part" ? "Degraded" : dependency);
  }
  return alternatives.length === 0 ? health : worseHealth(health, together(alternatives));
}

function together(alternatives: readonly Health[]): Health {
  const ranks = alternatives.map((health) => HEALTHS.indexOf(health));
  const best = HEALTHS[Math.min(...ranks)] ?? "Healthy";
  return best === "Healthy" && Math.max(...ranks) > 0 ? "Degraded" : best;
}
