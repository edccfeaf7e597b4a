import { type Domain, type Health, HEALTHS, nodeOf } from "../../api/health.ts";
import type { ComponentHealth } from "../../explain/answer.ts";
import type { MatrixCellRow } from "../api.ts";

interface Counted {
  readonly keys: readonly string[];
  readonly health: Health;
}

interface KeyCounts {
  readonly counts: Record<Health, number>;
  readonly unwell: Map<string, ComponentHealth>;
}

/** How many things are how well: by domain, by domain and node, and by kind. Kept up to date thing by thing. */
export class HealthCounts {
  readonly #counted = new Map<string, Counted>();
  readonly #counts = new Map<string, KeyCounts>();

  /** Takes in what is known of a thing now, and returns the places in which that makes a difference. */
  count(id: string, verdict: ComponentHealth | undefined): readonly string[] {
    const before = this.#counted.get(id);
    const keys = verdict ? keysOf(verdict) : [];
    for (const entry of before?.keys ?? []) this.#leave(entry, id, before?.health ?? "Healthy");
    if (!verdict) this.#counted.delete(id);
    else {
      this.#counted.set(id, { keys, health: verdict.health });
      for (const entry of keys) this.#enter(entry, verdict);
    }
    const isSame = before && verdict && before.health === "Healthy" && verdict.health === "Healthy" && keys.join() === before.keys.join();
    return isSame ? [] : [...new Set([...(before?.keys ?? []), ...keys])];
  }

  cell(entry: string): MatrixCellRow | undefined {
    const found = this.#counts.get(entry);
    if (!found) return undefined;
    const health = HEALTHS.findLast((one) => found.counts[one] > 0) ?? "Healthy";
    const since = earliest([...found.unwell.values()].filter((one) => one.health === health));
    return { health, ...(since !== undefined && { since }), tally: { ...found.counts } };
  }

  unwell(entry: string): readonly ComponentHealth[] {
    return [...(this.#counts.get(entry)?.unwell.values() ?? [])];
  }

  #enter(name: string, verdict: ComponentHealth): void {
    let entry = this.#counts.get(name);
    if (!entry) this.#counts.set(name, (entry = { counts: { Healthy: 0, Degraded: 0, Unknown: 0, Down: 0 }, unwell: new Map() }));
    entry.counts[verdict.health] += 1;
    if (verdict.health !== "Healthy") entry.unwell.set(verdict.id, verdict);
  }

  #leave(name: string, id: string, health: Health): void {
    const entry = this.#counts.get(name);
    if (!entry) return;
    entry.counts[health] -= 1;
    entry.unwell.delete(id);
    if (HEALTHS.every((one) => entry.counts[one] === 0)) this.#counts.delete(name);
  }
}

export function countKey(domain: Domain, node?: string): string {
  return node === undefined ? `domain ${domain}` : `cell ${domain} ${node}`;
}

export function kindCountKey(kind: string): string {
  return `kind ${kind}`;
}

function keysOf({ component, domain }: ComponentHealth): string[] {
  const node = nodeOf(component);
  return [countKey(domain), kindCountKey(component.kind), ...(node === undefined ? [] : [countKey(domain, node)])];
}

function earliest(verdicts: readonly ComponentHealth[]): string | undefined {
  let first: string | undefined;
  for (const { since } of verdicts)
    if (since !== undefined && (first === undefined || Date.parse(since) < Date.parse(first))) first = since;
  return first;
}
