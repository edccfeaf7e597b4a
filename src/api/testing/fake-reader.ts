import { keyOf, type Kind, type KubeObject } from "../kind.ts";
import { type Explainer, componentId, type ObjectReader, type HealthStatement } from "../health.ts";

// For tests: what explainers see, and what they say.

export type FakeObject = readonly [kind: Kind, ...objects: KubeObject[]];

function readerOf(...known: readonly FakeObject[]): ObjectReader {
  const of = <T extends KubeObject>({ kind, group }: Kind<T>) =>
    known.filter(([one]) => one.kind === kind && one.group === group).flatMap(([, ...objects]) => objects) as T[];
  return {
    get: (kind, key) => of(kind).find((object) => keyOf(object) === key),
    by: (index, value) => of(index.kind).filter((object) => index.of(object).includes(value)),
    all: of,
  };
}

/** All that is said of all that is seen. */
export function statementsFrom(explainers: readonly Explainer[], ...known: readonly FakeObject[]): HealthStatement[] {
  const reader = readerOf(...known);
  return known.flatMap(([kind, ...objects]) =>
    explainers
      .filter((one) => one.kind.kind === kind.kind && one.kind.group === kind.group)
      .flatMap(({ explain }) => objects.flatMap((object) => [...explain(object, reader)])),
  );
}

/** `Down Service/shop/web noEndpoints`, for what is not healthy; `!` marks what takes the blame. */
export function unhealthyIn(statements: readonly HealthStatement[]): string[] {
  return statements
    .filter(({ health }) => health !== "Healthy")
    .map(({ component, health, reason, ownFault }) => `${ownFault ? "!" : ""}${health} ${componentId(component)} ${reason ?? ""}`.trim());
}

/** What the thing needs, `part Link/eth1@n1`. */
export function dependenciesOf(statements: readonly HealthStatement[], id: string): string[] {
  const dependencies = statements
    .filter(({ component }) => componentId(component) === id)
    .flatMap((statement) => statement.dependencies ?? []);
  return dependencies.map(({ component, as }) => `${as === undefined ? "" : `${as} `}${componentId(component)}`);
}
