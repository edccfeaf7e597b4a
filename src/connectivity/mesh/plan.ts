import { isDeepStrictEqual } from "node:util";
import type { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import { selects } from "../../api/core/label-selector.ts";
import type { Pod } from "../../api/core/pod.ts";
import { hashedName, MAX_NAME_LENGTH } from "../../api/object-name.ts";
import { fingerprint, rank } from "../../util/rendezvous-hash.ts";
import { type Found, none, type NotObserved } from "./target-parts.ts";
import { targetsOf, type TargetView } from "./targets.ts";
import type { MeshSource, CheckTarget, DesiredCheck } from "./desired-check.ts";

export interface MeshView extends TargetView {
  /** Pods of the mesh's namespace. */
  readonly pods: readonly Pod[];
}

export interface MeshPlan {
  /** Undefined if the mesh is invalid: its existing checks stay. */
  readonly checks: readonly DesiredCheck[] | undefined;
  readonly sources: number;
  readonly targets: number;
  /** Entries of the mesh that result in no check. */
  readonly problems: readonly string[];
  /** Announced Services without a check, by name. */
  readonly notObserved?: readonly NotObserved[];
}

/** The limit of one mesh, and of all meshes of one namespace. */
export const MOST_CHECKS = 20_000;

export function planMesh(mesh: ConnectivityMesh, view: MeshView): MeshPlan {
  const { namespace = "" } = mesh.metadata;
  const { sources, problem } = sourcesOf(mesh, view);
  const found = mesh.spec.targets.map((target, at) => ({ at, ...runnable(mesh, targetsOf(target, namespace, view)) }));
  const { targets, contradictions } = distinctTargets(found);
  const problems = [
    ...(problem === undefined ? [] : [`spec.sources: ${problem}`]),
    ...found.flatMap((each) => (each.problem === undefined ? [] : [`spec.targets[${each.at}]: ${each.problem}`])),
    ...contradictions,
  ];
  const notObserved = distinctServices(found.flatMap((each) => each.notObserved ?? []));
  const counts = { sources: sources.length, targets: targets.length, ...(notObserved.length > 0 && { notObserved }) };

  const perTarget = wantedPerTarget(mesh);
  if (!(perTarget >= 1))
    return { ...counts, checks: undefined, problems: [...problems, "spec.sourcesPerTarget: must be at least 1, or all"] };
  const requested = Math.min(perTarget, sources.length) * targets.length;
  if (requested > MOST_CHECKS) {
    const tooMany = `spec.sourcesPerTarget: ${requested} checks requested, the limit is ${MOST_CHECKS} per mesh; use fewer sources per target`;
    return { ...counts, checks: undefined, problems: [...problems, tooMany] };
  }
  const ranked = sources.map((source) => ({ source, print: fingerprint(`${source.kind}/${source.name}`) }));
  const sidesOf = splitter(ranked);
  const checks = targets.flatMap((target) =>
    chosen(sidesOf(target.avoid), target, namespace, perTarget).map((source): DesiredCheck => ({
      name: checkName(source, target),
      source,
      target,
    })),
  );
  return { ...counts, checks, problems };
}

function runnable({ spec: { sources } }: ConnectivityMesh, found: Found): Found {
  const usesRouter = sources.pods !== undefined && found.targets.some(({ probe }) => probe?.from !== undefined);
  return usesRouter ? none("probes from the router need sources.nodes") : found;
}

function distinctServices(all: readonly NotObserved[]): NotObserved[] {
  const byService = new Map(all.map((one) => [one.service, one]));
  return [...byService.values()].toSorted((one, other) => (one.service < other.service ? -1 : 1));
}

/** The first entry that names a target decides how it is probed. */
function distinctTargets(found: readonly { at: number; targets: readonly CheckTarget[] }[]) {
  const first = new Map<string, { at: number; target: CheckTarget }>();
  const contradictions = new Set<string>();
  for (const { at, targets } of found) {
    for (const target of targets) {
      const known = first.get(target.identity);
      if (!known) first.set(target.identity, { at, target });
      else if (!isDeepStrictEqual(expectationOf(known.target), expectationOf(target))) {
        const other = `spec.targets[${known.at}]`;
        contradictions.add(`spec.targets[${at}]: same request as ${other}, with another expect, followRedirects or tls; ${other} applies`);
      }
    }
  }
  return { targets: Array.from(first.values(), ({ target }) => target), contradictions };
}

/** What the identity of a target does not contain. */
function expectationOf({ probe: { expect, followRedirects, tls } = { type: "TCP" } }: CheckTarget): unknown[] {
  return [expect?.status, expect?.body, followRedirects ?? false, tls?.caBundle, tls?.insecure ?? false];
}

function wantedPerTarget({ spec: { sourcesPerTarget } }: ConnectivityMesh): number {
  return sourcesPerTarget === "all" ? Infinity : Number(sourcesPerTarget);
}

function sourcesOf({ metadata, spec: { sources } }: ConnectivityMesh, view: MeshView): { sources: MeshSource[]; problem?: string } {
  if (sources.nodes) {
    // Nodes probe from the host network.
    if (metadata.namespace !== view.systemNamespace)
      return { sources: [], problem: `node sources are only allowed in namespace ${view.systemNamespace}` };
    const selector = sources.nodes.selector;
    const nodes = view.nodes.filter((node) => selects(selector, node.metadata.labels ?? {}));
    if (nodes.length === 0) return { sources: [], problem: "no node matches the selector" };
    return { sources: nodes.map(({ metadata: { name } }) => ({ kind: "node", name, node: name })) };
  }
  const pods = view.pods.filter((pod) => selects(sources.pods?.selector, pod.metadata.labels ?? {}) && isAlive(pod));
  if (pods.length === 0) return { sources: [], problem: "no running pod matches the selector" };
  return { sources: pods.map(({ metadata: { name }, spec: { nodeName = "" } }) => ({ kind: "pod", name, node: nodeName })) };
}

/** Scheduled and not ended. A terminating pod keeps its checks until it is gone. */
export function isAlive({ spec, status }: Pod): boolean {
  return spec.nodeName !== undefined && status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

interface Ranked {
  readonly source: MeshSource;
  readonly print: number;
}

interface Sides {
  readonly rest: readonly Ranked[];
  readonly avoided: readonly Ranked[];
}

/** Splits the sources by the nodes to avoid, once for all targets with the same list. */
function splitter(sources: readonly Ranked[]): (avoid: readonly string[] | undefined) => Sides {
  const known = new Map<readonly string[], Sides>();
  const all: Sides = { rest: sources, avoided: [] };
  return (avoid) => {
    if (!avoid) return all;
    const before = known.get(avoid);
    if (before) return before;
    const nodes = new Set(avoid);
    const { rest = [], avoided = [] } = Object.groupBy(sources, ({ source }) => (nodes.has(source.node) ? "avoided" : "rest"));
    known.set(avoid, { rest, avoided });
    return { rest, avoided };
  };
}

/** Nodes to avoid come after all others. */
function chosen({ rest, avoided }: Sides, target: CheckTarget, namespace: string, count: number): readonly MeshSource[] {
  const first = firstOf(rest, target, namespace, count);
  return first.length < count && avoided.length > 0 ? [...first, ...firstOf(avoided, target, namespace, count - first.length)] : first;
}

/** Rendezvous hashing: an added or removed source changes only its own share. */
function firstOf(sources: readonly Ranked[], target: CheckTarget, namespace: string, count: number): readonly MeshSource[] {
  const isSame = isTarget(target, namespace);
  if (count >= sources.length) return sources.map(({ source }) => source).filter((source) => !isSame(source));
  const print = fingerprint(target.identity);
  // The best so far, in order: sorting thousands of sources for each of thousands of targets takes many seconds.
  const best: Scored[] = [];
  let worst = Infinity;
  for (const { source, print: own } of sources) {
    const score = rank(own, print);
    if (score > worst || isSame(source)) continue;
    insert(best, { source, score });
    if (best.length > count) best.pop();
    if (best.length === count) worst = best.at(-1)?.score ?? worst;
  }
  return best.map(({ source }) => source);
}

interface Scored {
  readonly source: MeshSource;
  readonly score: number;
}

/** A separate function: a closure in the loop above would allocate an object for each of millions of pairs. */
function insert(best: Scored[], one: Scored): void {
  const before = best.findLastIndex(({ score, source }) => score < one.score || (score === one.score && source.name < one.source.name));
  best.splice(before + 1, 0, one);
}

/** A source does not probe itself. */
function isTarget({ what, pod }: CheckTarget, namespace: string): (source: MeshSource) => boolean {
  return ({ kind, name }) => (kind === "node" ? what === `node/${name}` : pod === `${namespace}/${name}`);
}

function checkName(source: MeshSource, target: CheckTarget): string {
  return hashedName(`${source.name}-to-${target.readable}`, `${source.kind}/${source.name}/${target.identity}`, MAX_NAME_LENGTH.name);
}
