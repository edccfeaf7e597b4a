import { type Domain, type Health, HEALTHS, nodeOf } from "../../api/health.ts";
import type { ComponentHealth } from "../../explain/answer.ts";
import type { MatrixCellRow } from "../api.ts";

interface Counted {
  readonly places: readonly string[];
  readonly health: Health;
}

interface Place {
  readonly counts: Record<Health, number>;
  readonly unwell: Map<string, ComponentHealth>;
}

/** How many things are how well: by domain, by domain and node, and by kind. Kept up to date thing by thing. */
export class HealthCounts {
  readonly #counted = new Map<string, Counted>();
  readonly #places = new Map<string, Place>();

  /** Takes in what is known of a thing now, and returns the places in which that makes a difference. */
  count(id: string, verdict: ComponentHealth | undefined): readonly string[] {
    const before = this.#counted.get(id);
    const places = verdict ? placesOf(verdict) : [];
    for (const place of before?.places ?? []) this.#leave(place, id, before?.health ?? "Healthy");
    if (!verdict) this.#counted.delete(id);
    else {
      this.#counted.set(id, { places, health: verdict.health });
      for (const place of places) this.#enter(place, verdict);
    }
    const isSame =
      before && verdict && before.health === "Healthy" && verdict.health === "Healthy" && places.join() === before.places.join();
    return isSame ? [] : [...new Set([...(before?.places ?? []), ...places])];
  }

  cell(place: string): MatrixCellRow | undefined {
    const found = this.#places.get(place);
    if (!found) return undefined;
    const health = HEALTHS.findLast((one) => found.counts[one] > 0) ?? "Healthy";
    const since = earliest([...found.unwell.values()].filter((one) => one.health === health));
    return { health, ...(since !== undefined && { since }), tally: { ...found.counts } };
  }

  unwell(place: string): readonly ComponentHealth[] {
    return [...(this.#places.get(place)?.unwell.values() ?? [])];
  }

  #enter(name: string, verdict: ComponentHealth): void {
    let place = this.#places.get(name);
    if (!place) this.#places.set(name, (place = { counts: { Healthy: 0, Degraded: 0, Unknown: 0, Down: 0 }, unwell: new Map() }));
    place.counts[verdict.health] += 1;
    if (verdict.health !== "Healthy") place.unwell.set(verdict.id, verdict);
  }

  #leave(name: string, id: string, health: Health): void {
    const place = this.#places.get(name);
    if (!place) return;
    place.counts[health] -= 1;
    place.unwell.delete(id);
    if (HEALTHS.every((one) => place.counts[one] === 0)) this.#places.delete(name);
  }
}

export function countKey(domain: Domain, node?: string): string {
  return node === undefined ? `domain ${domain}` : `cell ${domain} ${node}`;
}

export function kindCountKey(kind: string): string {
  return `kind ${kind}`;
}

function placesOf({ component, domain }: ComponentHealth): string[] {
  const node = nodeOf(component);
  return [countKey(domain), kindCountKey(component.kind), ...(node === undefined ? [] : [countKey(domain, node)])];
}

function earliest(verdicts: readonly ComponentHealth[]): string | undefined {
  let first: string | undefined;
  for (const { since } of verdicts)
    if (since !== undefined && (first === undefined || Date.parse(since) < Date.parse(first))) first = since;
  return first;
}
