import type { Condition } from "../../api/kind.ts";
import type { Dependency, HealthStatement, Component } from "../../api/health.ts";

export type StatementBody = Pick<HealthStatement, "health"> &
  Partial<Pick<HealthStatement, "reason" | "message" | "since" | "ownFault" | "fix">>;

export const HEALTHY: StatementBody = { health: "Healthy" };

export function objectOf(kind: string, { name, namespace }: { name: string; namespace?: string }): Component {
  return { kind, ...(namespace !== undefined && { namespace }), name };
}

export function on(node: string, component: Component): Component {
  return { ...component, node };
}

export function frrOn(node: string): Component {
  return { kind: "FRR", name: "lb", node };
}

export function conditionOf(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function statement(component: Component, body: StatementBody, dependencies: readonly Dependency[] = []): HealthStatement {
  return { component, domain: "loadbalancer", ...body, ...(dependencies.length > 0 && { dependencies }) };
}

/** A failed part makes the whole Degraded. */
export function partOf(whole: Component, part: Component): HealthStatement {
  return statement(whole, HEALTHY, [{ component: part, as: "part" }]);
}

export function nodeComponent(name: string): Component {
  return { kind: "Node", name };
}
