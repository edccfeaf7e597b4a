import { type Health, HEALTHS, componentId, type Dependency, type HealthStatement, type Component } from "../api/health.ts";
import { ensure } from "../util/map.ts";

export interface ComponentState {
  readonly id: string;
  readonly component: Component;
  /** The combined statement; undefined where it is only known as a dependency. */
  own: HealthStatement | undefined;
  readonly statements: Map<string, HealthStatement>;
  /** By the id of the dependency. */
  dependencies: ReadonlyMap<string, Dependency>;
  readonly dependents: Set<string>;
}

export class Components {
  readonly known = new Map<string, ComponentState>();
  /** Components that are unhealthy by themselves. */
  readonly unhealthy = new Set<ComponentState>();
  readonly #updated = new Set<ComponentState>();

  /** Replaces the statements of one explainer; they take effect in `combine`. */
  update(explainer: string, before: readonly HealthStatement[], now: readonly HealthStatement[]): void {
    for (const { component } of before) {
      const known = this.#component(component);
      known.statements.delete(explainer);
      this.#updated.add(known);
    }
    for (const statement of now) {
      const known = this.#component(statement.component);
      const already = known.statements.get(explainer);
      known.statements.set(explainer, already ? joined([already, statement]) : statement);
      this.#updated.add(known);
    }
  }

  /** Combines the new statements, once per component. */
  combine(): void {
    const left = new Set(this.#updated);
    for (const known of this.#updated) for (const other of this.#combine(known)) left.add(other);
    this.#updated.clear();
    for (const known of left) this.#remove(known);
  }

  #component(component: Component): ComponentState {
    const id = componentId(component);
    return ensure(this.known, id, () => ({
      id,
      component,
      own: undefined,
      statements: new Map(),
      dependencies: new Map(),
      dependents: new Set(),
    }));
  }

  #combine(known: ComponentState): ComponentState[] {
    const before = known.dependencies;
    known.own = known.statements.size > 0 ? joined([...known.statements.values()]) : undefined;
    known.dependencies = new Map((known.own?.dependencies ?? []).map((dependency) => [componentId(dependency.component), dependency]));
    for (const [id, { component }] of known.dependencies) if (!before.has(id)) this.#component(component).dependents.add(known.id);
    const left = [...before.keys()].flatMap((id) => (known.dependencies.has(id) ? [] : (this.known.get(id) ?? [])));
    for (const other of left) other.dependents.delete(known.id);
    if (known.own && known.own.health !== "Healthy") this.unhealthy.add(known);
    else this.unhealthy.delete(known);
    return left;
  }

  #remove(known: ComponentState): void {
    if (known.statements.size === 0 && known.dependents.size === 0) this.known.delete(known.id);
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
