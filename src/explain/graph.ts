import { keyOf, type Kind, type KubeObject } from "../api/kind.ts";
import { type Explainer, type Health, idOf, type Sight, type Standing } from "../api/health.ts";
import type { Answer, Cause, Step, Verdict } from "./answer.ts";
import { rankedCauses, unwellNeeds, verdictOn } from "./causes.ts";
import { healthFlow } from "./propagate-health.ts";
import { type Look, nameOf, Objects } from "./tracked-objects.ts";
import { type Known, Things } from "./things.ts";
import { ensure } from "../util/map.ts";

/** What one explainer said of one object, and what it looked at to say so. */
interface Statement {
  readonly standings: readonly Standing[];
  readonly looks: ReadonlySet<Look>;
}

interface Speaker {
  readonly explainer: Explainer;
  readonly key: string;
}

/**
 * What is well, what is not, and why: one graph over the objects of all domains. Objects are put in as they change; what was said of them is worked
 * out again only where something that was looked at has changed, and only when somebody asks.
 */
export class CauseGraph {
  readonly #explainers = new Map<string, { readonly explainer: Explainer; readonly number: number }[]>();
  readonly #objects = new Objects();
  readonly #things = new Things();
  readonly #statements = new Map<string, Statement>();
  readonly #lookedAtBy = new Map<Look, Set<string>>();
  readonly #speakers = new Map<string, Speaker>();
  readonly #stale = new Set<string>();
  readonly #touched = new Set<string>();
  #flow: ReadonlyMap<string, Health> = new Map();
  #causes: ReadonlyMap<string, Cause> | undefined;

  constructor(explainers: readonly Explainer[]) {
    for (const [number, explainer] of explainers.entries()) {
      ensure(this.#explainers, nameOf(explainer.kind), () => []).push({ explainer, number });
    }
  }

  put(kind: Kind, object: KubeObject): void {
    this.#touch(this.#objects.put(kind, object));
    const key = keyOf(object);
    for (const { explainer, number } of this.#explainers.get(nameOf(kind)) ?? []) {
      const speaker = `${number} ${key}`;
      this.#speakers.set(speaker, { explainer, key });
      this.#stale.add(speaker);
    }
  }

  drop(kind: Kind, key: string): void {
    this.#touch(this.#objects.drop(kind, key));
    for (const { number } of this.#explainers.get(nameOf(kind)) ?? []) this.#stale.add(`${number} ${key}`);
  }

  /** Everything that is spoken of. */
  *verdicts(): Iterable<Verdict> {
    const flow = this.#settled();
    for (const known of this.#things.known.values()) if (known.own) yield verdictOn(known, flow);
  }

  verdict(id: string): Verdict | undefined {
    const flow = this.#settled();
    const known = this.#things.known.get(id);
    return known && verdictOn(known, flow);
  }

  /** The things on which the verdict may be another since this was last asked, and what it is now; none where nobody speaks of one any more. */
  touched(): ReadonlyMap<string, Verdict | undefined> {
    const flow = this.#settled();
    const touched = new Map<string, Verdict | undefined>();
    for (const id of this.#touched) {
      const known = this.#things.known.get(id);
      touched.set(id, known?.own && verdictOn(known, flow));
    }
    this.#touched.clear();
    return touched;
  }

  /** What is wrong now and not explained by anything below it; what is worst and troubles most comes first. */
  causes(): readonly Cause[] {
    return [...this.#blamed().values()];
  }

  why(id: string): Answer | undefined {
    const causes = this.#blamed();
    const known = this.#things.known.get(id);
    if (!known) return undefined;
    const path = this.#step(known, causes, new Set());
    const found = new Set(causesIn(path));
    return { path, causes: [...causes.values()].filter((cause) => found.has(cause.id)) };
  }

  #step(known: Known, causes: ReadonlyMap<string, Cause>, drawn: Set<string>): Step {
    const flow = this.#settled();
    const cause = causes.has(known.id);
    const below = cause || drawn.has(known.id) ? [] : unwellNeeds(known, this.#things, flow);
    drawn.add(known.id);
    return { ...verdictOn(known, flow), cause, needs: below.map((need) => this.#step(need, causes, drawn)) };
  }

  #blamed(): ReadonlyMap<string, Cause> {
    const flow = this.#settled();
    return (this.#causes ??= rankedCauses(this.#things, flow));
  }

  #touch(looks: readonly Look[]): void {
    for (const look of looks) for (const speaker of this.#lookedAtBy.get(look) ?? []) this.#stale.add(speaker);
  }

  /** Works out again what is stale. */
  #settled(): ReadonlyMap<string, Health> {
    if (this.#stale.size > 0) {
      for (const speaker of this.#stale) this.#hear(speaker);
      this.#stale.clear();
      this.#things.sumUp();
      this.#causes = undefined;
      const before = this.#flow;
      this.#flow = healthFlow(this.#things);
      for (const id of new Set([...before.keys(), ...this.#flow.keys()])) if (before.get(id) !== this.#flow.get(id)) this.#touched.add(id);
    }
    return this.#flow;
  }

  #hear(name: string): void {
    const before = this.#statements.get(name);
    for (const look of before?.looks ?? []) {
      const speakers = this.#lookedAtBy.get(look);
      speakers?.delete(name);
      if (speakers?.size === 0) this.#lookedAtBy.delete(look);
    }
    const now = this.#ask(name);
    if (now) {
      this.#statements.set(name, now);
      for (const look of now.looks) ensure(this.#lookedAtBy, look, () => new Set()).add(name);
    } else {
      this.#statements.delete(name);
      this.#speakers.delete(name);
    }
    for (const { thing } of [...(before?.standings ?? []), ...(now?.standings ?? [])]) this.#touched.add(idOf(thing));
    this.#things.hear(name, before?.standings ?? [], now?.standings ?? []);
  }

  #ask(name: string): Statement | undefined {
    const speaker = this.#speakers.get(name);
    const object = speaker && this.#objects.get(speaker.explainer.kind, speaker.key);
    if (!object) return undefined;
    const looks = new Set<Look>();
    return { standings: heard(speaker.explainer, object, this.#objects.sight(looks)), looks };
  }
}

/** One object that is not understood must not cost the answer to all others, nor whoever serves it: it is what nobody can tell of. */
function heard({ kind: { kind, plural }, explain }: Explainer, object: KubeObject, sight: Sight): readonly Standing[] {
  try {
    return [...explain(object, sight)];
  } catch (error) {
    const { name, namespace } = object.metadata;
    const thing = { kind, ...(namespace !== undefined && { namespace }), name };
    const why = error instanceof Error ? error.message : String(error);
    const message = `What it says is not understood, which is a fault of Plumbline: ${why}`;
    const remedy = {
      text: "report it, with the object",
      command: `plumbline get ${plural} ${name}${namespace === undefined ? "" : ` -n ${namespace}`} -o yaml`,
    };
    return [{ thing, domain: "cluster", health: "Unknown", ownFault: true, reason: "NotUnderstood", message, remedy }];
  }
}

function* causesIn(step: Step): Iterable<string> {
  if (step.cause) yield step.id;
  for (const need of step.needs) yield* causesIn(need);
}
