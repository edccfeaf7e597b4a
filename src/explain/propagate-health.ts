import { type Health, HEALTHS, worse } from "../api/health.ts";
import type { Known, Things } from "./things.ts";

/**
 * The health of everything that is not well, by id: its own word and that of what it needs. Starts from what is unwell by its own word and goes
 * up, so that it costs what is wrong, not what there is. Health only ever gets worse on the way: circles come to rest.
 */
export function healthFlow({ known, unwell }: Things): Map<string, Health> {
  const flow = new Map<string, Health>();
  const waiting = new Set(unwell);
  for (const one of waiting) {
    waiting.delete(one);
    const health = healthOf(one, flow);
    if (health === (flow.get(one.id) ?? "Healthy")) continue;
    flow.set(one.id, health);
    for (const id of one.neededBy) {
      const above = known.get(id);
      if (above) waiting.add(above);
    }
  }
  return flow;
}

function healthOf({ own, needs }: Known, flow: ReadonlyMap<string, Health>): Health {
  let health = own?.health ?? "Healthy";
  const alternatives: Health[] = [];
  for (const [id, { as }] of needs) {
    const needed = flow.get(id) ?? "Healthy";
    if (as === "alternative") alternatives.push(needed);
    else if (needed !== "Healthy") health = worse(health, as === "part" ? "Degraded" : needed);
  }
  return alternatives.length === 0 ? health : worse(health, together(alternatives));
}

function together(alternatives: readonly Health[]): Health {
  const ranks = alternatives.map((health) => HEALTHS.indexOf(health));
  const best = HEALTHS[Math.min(...ranks)] ?? "Healthy";
  return best === "Healthy" && Math.max(...ranks) > 0 ? "Degraded" : best;
}
