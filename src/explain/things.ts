import { type Health, HEALTHS, idOf, type Need, type Standing, type Thing } from "../api/health.ts";
import { ensure } from "../util/map.ts";

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
  readonly #heard = new Set<Known>();

  /** What one speaker says takes the place of what it said before; it counts once it is summed up. */
  hear(speaker: string, before: readonly Standing[], now: readonly Standing[]): void {
    for (const { thing } of before) {
      const known = this.#thing(thing);
      known.said.delete(speaker);
      this.#heard.add(known);
    }
    for (const standing of now) {
      const known = this.#thing(standing.thing);
      const already = known.said.get(speaker);
      known.said.set(speaker, already ? joined([already, standing]) : standing);
      this.#heard.add(known);
    }
  }

  /** Once for all that was heard: many may have spoken of one thing. */
  sumUp(): void {
    const left = new Set(this.#heard);
    for (const known of this.#heard) for (const other of this.#sumUp(known)) left.add(other);
    this.#heard.clear();
    for (const known of left) this.#forget(known);
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

  /** Returns what it needs no longer. */
  #sumUp(known: Known): Known[] {
    const before = known.needs;
    known.own = known.said.size > 0 ? joined([...known.said.values()]) : undefined;
    known.needs = new Map((known.own?.needs ?? []).map((need) => [idOf(need.thing), need]));
    for (const [id, { thing }] of known.needs) if (!before.has(id)) this.#thing(thing).neededBy.add(known.id);
    const left = [...before.keys()].flatMap((id) => (known.needs.has(id) ? [] : (this.known.get(id) ?? [])));
    for (const other of left) other.neededBy.delete(known.id);
    if (known.own && known.own.health !== "Healthy") this.unwell.add(known);
    else this.unwell.delete(known);
    return left;
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
