import { keyOf, type Kind, type KubeObject } from "../api/kind.ts";
import { type Explainer, type Health, componentId, type ObjectReader, type HealthStatement } from "../api/health.ts";
import type { Answer, Cause, PathNode, ComponentHealth } from "./answer.ts";
import { rankedCauses, unhealthyDependencies, healthOf, propagateHealth } from "./causes.ts";
import { type Query, kindName, StaleReaders, TrackedObjects } from "./tracked-objects.ts";
import { type ComponentState, Components } from "./components.ts";
import { ensure } from "../util/map.ts";

/** One explainer of one object. */
interface Speaker {
  readonly explainer: Explainer;
  readonly key: string;
}

/**
 * The health of all components and its causes: one graph over the objects of all domains. Objects are put in as they change; statements are computed
 * again only where something they read has changed, and only on the next query.
 */
export class CauseGraph {
  readonly #explainers = new Map<string, { readonly explainer: Explainer; readonly number: number }[]>();
  readonly #objects = new TrackedObjects();
  readonly #components = new Components();
  readonly #statements = new Map<string, readonly HealthStatement[]>();
  readonly #speakers = new Map<string, Speaker>();
  readonly #readers = new StaleReaders();
  readonly #touched = new Set<string>();
  #flow: ReadonlyMap<string, Health> = new Map();
  #causes: ReadonlyMap<string, Cause> | undefined;

  constructor(explainers: readonly Explainer[]) {
    for (const [number, explainer] of explainers.entries()) {
      ensure(this.#explainers, kindName(explainer.kind), () => []).push({ explainer, number });
    }
  }

  put(kind: Kind, object: KubeObject): void {
    this.#readers.changed(this.#objects.put(kind, object));
    const key = keyOf(object);
    for (const { explainer, number } of this.#explainers.get(kindName(kind)) ?? []) {
      const speaker = `${number} ${key}`;
      this.#speakers.set(speaker, { explainer, key });
      this.#readers.stale.add(speaker);
    }
  }

  drop(kind: Kind, key: string): void {
    this.#readers.changed(this.#objects.drop(kind, key));
    for (const { number } of this.#explainers.get(kindName(kind)) ?? []) this.#readers.stale.add(`${number} ${key}`);
  }

  *verdicts(): Iterable<ComponentHealth> {
    const flow = this.#current();
    for (const known of this.#components.known.values()) if (known.own) yield healthOf(known, flow);
  }

  verdict(id: string): ComponentHealth | undefined {
    const flow = this.#current();
    const known = this.#components.known.get(id);
    return known && healthOf(known, flow);
  }

  /** The components whose health may have changed since the last call, and their health now; undefined where a component is gone. */
  touched(): ReadonlyMap<string, ComponentHealth | undefined> {
    const flow = this.#current();
    const touched = new Map<string, ComponentHealth | undefined>();
    for (const id of this.#touched) {
      const known = this.#components.known.get(id);
      touched.set(id, known?.own && healthOf(known, flow));
    }
    this.#touched.clear();
    return touched;
  }

  /** The current causes: the worst and those with most effects first. */
  causes(): readonly Cause[] {
    return [...this.#blamed().values()];
  }

  why(id: string): Answer | undefined {
    const causes = this.#blamed();
    const known = this.#components.known.get(id);
    if (!known) return undefined;
    const path = this.#step(known, causes, new Set());
    const found = new Set(causesIn(path));
    return { path, causes: [...causes.values()].filter((cause) => found.has(cause.id)) };
  }

  #step(known: ComponentState, causes: ReadonlyMap<string, Cause>, drawn: Set<string>): PathNode {
    const flow = this.#current();
    const cause = causes.has(known.id);
    const below = cause || drawn.has(known.id) ? [] : unhealthyDependencies(known, this.#components, flow);
    drawn.add(known.id);
    return { ...healthOf(known, flow), cause, dependencies: below.map((dependency) => this.#step(dependency, causes, drawn)) };
  }

  #blamed(): ReadonlyMap<string, Cause> {
    const flow = this.#current();
    return (this.#causes ??= rankedCauses(this.#components, flow));
  }

  #current(): ReadonlyMap<string, Health> {
    const { stale } = this.#readers;
    if (stale.size > 0) {
      for (const speaker of stale) this.#recompute(speaker);
      stale.clear();
      this.#components.combine();
      this.#causes = undefined;
      const before = this.#flow;
      this.#flow = propagateHealth(this.#components);
      for (const id of new Set([...before.keys(), ...this.#flow.keys()])) if (before.get(id) !== this.#flow.get(id)) this.#touched.add(id);
    }
    return this.#flow;
  }

  #recompute(name: string): void {
    const before = this.#statements.get(name) ?? [];
    const speaker = this.#speakers.get(name);
    const object = speaker && this.#objects.get(speaker.explainer.kind, speaker.key);
    const queries = object && new Set<Query>();
    const now = speaker && queries ? statementsOf(speaker.explainer, object, this.#objects.reader(queries)) : [];
    this.#readers.record(name, queries);
    if (object) this.#statements.set(name, now);
    else {
      this.#statements.delete(name);
      this.#speakers.delete(name);
    }
    for (const { component } of [...before, ...now]) this.#touched.add(componentId(component));
    this.#components.update(name, before, now);
  }
}

/** An explainer that throws must not break the whole graph: its object becomes Unknown. */
function statementsOf(
  { kind: { kind, plural }, explain }: Explainer,
  object: KubeObject,
  reader: ObjectReader,
): readonly HealthStatement[] {
  try {
    return [...explain(object, reader)];
  } catch (error) {
    const { name, namespace } = object.metadata;
    const component = { kind, ...(namespace !== undefined && { namespace }), name };
    const why = error instanceof Error ? error.message : String(error);
    const message = `internal error while reading the status: ${why}`;
    const fix = {
      text: "report this bug and attach the object",
      command: `plumbline get ${plural} ${name}${namespace === undefined ? "" : ` -n ${namespace}`} -o yaml`,
    };
    return [{ component, domain: "cluster", health: "Unknown", ownFault: true, reason: "InternalError", message, fix }];
  }
}

function* causesIn(step: PathNode): Iterable<string> {
  if (step.cause) yield step.id;
  for (const dependency of step.dependencies) yield* causesIn(dependency);
}
