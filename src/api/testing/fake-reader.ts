import { keyOf, type Kind, type KubeObject } from "../kind.ts";
import { type Explainer, idOf, type Sight, type Standing } from "../health.ts";

// For tests: what explainers see, and what they say.

export type Seen = readonly [kind: Kind, ...objects: KubeObject[]];

function sightOf(...seen: readonly Seen[]): Sight {
  const of = <T extends KubeObject>({ kind, group }: Kind<T>) =>
    seen.filter(([one]) => one.kind === kind && one.group === group).flatMap(([, ...objects]) => objects) as T[];
  return {
    get: (kind, key) => of(kind).find((object) => keyOf(object) === key),
    by: (index, value) => of(index.kind).filter((object) => index.of(object).includes(value)),
    all: of,
  };
}

/** All that is said of all that is seen. */
export function saidOf(explainers: readonly Explainer[], ...seen: readonly Seen[]): Standing[] {
  const sight = sightOf(...seen);
  return seen.flatMap(([kind, ...objects]) =>
    explainers
      .filter((one) => one.kind.kind === kind.kind && one.kind.group === kind.group)
      .flatMap(({ explain }) => objects.flatMap((object) => [...explain(object, sight)])),
  );
}

/** `Down Service/shop/web noEndpoints`, for what is not healthy; `!` marks what takes the blame. */
export function unwell(standings: readonly Standing[]): string[] {
  return standings
    .filter(({ health }) => health !== "Healthy")
    .map(({ thing, health, reason, ownFault }) => `${ownFault ? "!" : ""}${health} ${idOf(thing)} ${reason ?? ""}`.trim());
}

/** What the thing needs, `part Link/eth1@n1`. */
export function needsOf(standings: readonly Standing[], id: string): string[] {
  const needs = standings.filter(({ thing }) => idOf(thing) === id).flatMap((standing) => standing.needs ?? []);
  return needs.map(({ thing, as }) => `${as === undefined ? "" : `${as} `}${idOf(thing)}`);
}
