import { type Health, HEALTHS, worseHealth } from "../api/health.ts";
import type { ComponentState, Components } from "./components.ts";

/**
 * The health of all unhealthy components, by id: their own combined with that of their dependencies. Starts from components that are unhealthy by
 * themselves and goes up, so the cost grows with the problems, not with the cluster. Health only gets worse on the way, so cycles terminate.
 */
export function propagateHealth({ known, unhealthy }: Components): Map<string, Health> {
  const flow = new Map<string, Health>();
  const waiting = new Set(unhealthy);
  for (const one of waiting) {
    waiting.delete(one);
    const health = healthOf(one, flow);
    if (health === (flow.get(one.id) ?? "Healthy")) continue;
    flow.set(one.id, health);
    for (const id of one.dependents) {
      const above = known.get(id);
      if (above) waiting.add(above);
    }
  }
  return flow;
}

function healthOf({ own, dependencies }: ComponentState, flow: ReadonlyMap<string, Health>): Health {
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
