import { type Health, HEALTHS, componentId, type Dependency, type HealthStatement, type Component } from "../api/health.ts";
import { ensure } from "../util/map.ts";

/** A component and all statements about it. */
export interface ComponentState {
  readonly id: string;
  readonly component: Component;
  /** The combined statement; undefined where it is only known as a dependency. */
  own: HealthStatement | undefined;
  readonly said: Map<string, HealthStatement>;
  /** By the id of the dependency. */
  dependencies: ReadonlyMap<string, Dependency>;
  readonly neededBy: Set<string>;
}

/** All known components. */
export class Components {
  readonly known = new Map<string, ComponentState>();
  /** Components that are unhealthy by themselves. */
  readonly unwell = new Set<ComponentState>();
  readonly #heard = new Set<ComponentState>();

  /** Replaces the statements of one speaker; they take effect in sumUp. */
  hear(speaker: string, before: readonly HealthStatement[], now: readonly HealthStatement[]): void {
    for (const { component } of before) {
      const known = this.#component(component);
      known.said.delete(speaker);
      this.#heard.add(known);
    }
    for (const statement of now) {
      const known = this.#component(statement.component);
      const already = known.said.get(speaker);
      known.said.set(speaker, already ? joined([already, statement]) : statement);
      this.#heard.add(known);
    }
  }

  /** Combines the new statements, once per component. */
  sumUp(): void {
    const left = new Set(this.#heard);
    for (const known of this.#heard) for (const other of this.#sumUp(known)) left.add(other);
    this.#heard.clear();
    for (const known of left) this.#remove(known);
  }

  #component(component: Component): ComponentState {
    const id = componentId(component);
    return ensure(this.known, id, () => ({
      id,
      component,
      own: undefined,
      said: new Map(),
      dependencies: new Map(),
      neededBy: new Set(),
    }));
  }

  /** Returns its former dependencies. */
  #sumUp(known: ComponentState): ComponentState[] {
    const before = known.dependencies;
    known.own = known.said.size > 0 ? joined([...known.said.values()]) : undefined;
    known.dependencies = new Map((known.own?.dependencies ?? []).map((dependency) => [componentId(dependency.component), dependency]));
    for (const [id, { component }] of known.dependencies) if (!before.has(id)) this.#component(component).neededBy.add(known.id);
    const left = [...before.keys()].flatMap((id) => (known.dependencies.has(id) ? [] : (this.known.get(id) ?? [])));
    for (const other of left) other.neededBy.delete(known.id);
    if (known.own && known.own.health !== "Healthy") this.unwell.add(known);
    else this.unwell.delete(known);
    return left;
  }

  #remove(known: ComponentState): void {
    if (known.said.size === 0 && known.neededBy.size === 0) this.known.delete(known.id);
  }
}

const STRENGTHS = ["part", "alternative", undefined] as const;

/** Combines statements: the worst wins, then one with its own fault, then the earliest. All dependencies are kept. */
function joined(statements: readonly HealthStatement[]): HealthStatement {
  const [first, ...others] = statements;
  if (!first) throw new TypeError("no statements to combine");
  if (others.length === 0) return first;
  const worst = statements.reduce((one, other) => (precedes(other, one) ? other : one));
  const dependencies = new Map<string, Dependency>();
  for (const dependency of statements.flatMap((statement) => statement.dependencies ?? [])) {
    const id = componentId(dependency.component);
    const already = dependencies.get(id);
    if (!already || STRENGTHS.indexOf(dependency.as) > STRENGTHS.indexOf(already.as)) dependencies.set(id, dependency);
  }
  return { ...worst, dependencies: [...dependencies.values()] };
}

function precedes(one: HealthStatement, other: HealthStatement): boolean {
  const [a, b] = [rank(one.health), rank(other.health)];
  if (a !== b) return a > b;
  if ((one.ownFault === true) !== (other.ownFault === true)) return one.ownFault === true;
  if (one.since !== other.since) return (one.since ?? "~") < (other.since ?? "~");
  return (one.message ?? "") > (other.message ?? "");
}

function rank(health: Health): number {
  return HEALTHS.indexOf(health);
}
