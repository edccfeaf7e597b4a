import { type Health, HEALTHS, idOf, type Need, type Standing, type Thing } from "../api/standing.ts";
import { ensure } from "./ensure.ts";

/** A thing and all that is said of it. */
export interface Known {
  readonly id: string;
  readonly thing: Thing;
  /** What is said, all in all; nothing where it is only known because another needs it. */
  own: Standing | undefined;
  readonly said: Map<string, Standing>;
  /** By the id of what is needed. */
  needs: ReadonlyMap<string, Need>;
  readonly neededBy: Set<string>;
}

/** Everything that is spoken of. */
export class Things {
  readonly known = new Map<string, Known>();
  /** What is not healthy by its own word. */
  readonly unwell = new Set<Known>();

  /** What one speaker says takes the place of what it said before. */
  hear(speaker: string, before: readonly Standing[], now: readonly Standing[]): void {
    const heard = new Set<Known>();
    for (const { thing } of before) {
      const known = this.#thing(thing);
      known.said.delete(speaker);
      heard.add(known);
    }
    for (const standing of now) {
      const known = this.#thing(standing.thing);
      const already = known.said.get(speaker);
      known.said.set(speaker, already ? joined([already, standing]) : standing);
      heard.add(known);
    }
    for (const known of heard) this.#sumUp(known);
    for (const known of heard) this.#forget(known);
  }

  #thing(thing: Thing): Known {
    const id = idOf(thing);
    return ensure(this.known, id, () => ({
      id,
      thing,
      own: undefined,
      said: new Map(),
      needs: new Map(),
      neededBy: new Set(),
    }));
  }

  #sumUp(known: Known): void {
    const before = known.needs;
    known.own = known.said.size > 0 ? joined([...known.said.values()]) : undefined;
    known.needs = new Map((known.own?.needs ?? []).map((need) => [idOf(need.thing), need]));
    for (const [id, { thing }] of known.needs) if (!before.has(id)) this.#thing(thing).neededBy.add(known.id);
    for (const id of before.keys()) {
      if (known.needs.has(id)) continue;
      const other = this.known.get(id);
      other?.neededBy.delete(known.id);
      if (other) this.#forget(other);
    }
    if (known.own && known.own.health !== "Healthy") this.unwell.add(known);
    else this.unwell.delete(known);
  }

  #forget(known: Known): void {
    if (known.said.size === 0 && known.neededBy.size === 0) this.known.delete(known.id);
  }
}

const STRENGTHS = ["part", "alternative", undefined] as const;

/** One word from several: the worst, and of equals the one that takes the blame, then the earliest. All needs hold. */
function joined(said: readonly Standing[]): Standing {
  const [first, ...others] = said;
  if (!first) throw new TypeError("nothing was said");
  if (others.length === 0) return first;
  const worst = said.reduce((one, other) => (precedes(other, one) ? other : one));
  const needs = new Map<string, Need>();
  for (const need of said.flatMap((standing) => standing.needs ?? [])) {
    const id = idOf(need.thing);
    const already = needs.get(id);
    if (!already || STRENGTHS.indexOf(need.as) > STRENGTHS.indexOf(already.as)) needs.set(id, need);
  }
  return { ...worst, needs: [...needs.values()] };
}

function precedes(one: Standing, other: Standing): boolean {
  const [a, b] = [rank(one.health), rank(other.health)];
  if (a !== b) return a > b;
  if ((one.ownFault === true) !== (other.ownFault === true)) return one.ownFault === true;
  if (one.since !== other.since) return (one.since ?? "~") < (other.since ?? "~");
  return (one.message ?? "") > (other.message ?? "");
}

function rank(health: Health): number {
  return HEALTHS.indexOf(health);
}
