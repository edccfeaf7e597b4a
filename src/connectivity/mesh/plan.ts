import { createHash } from "node:crypto";
import type { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import { selects } from "../../api/core/label-selector.ts";
import type { Pod } from "../../api/core/pod.ts";
import { hashedName, LONGEST } from "../../api/fitting-name.ts";
import { targetsOf, type TargetView } from "./targets.ts";
import type { CheckSource, CheckTarget, WantedCheck } from "./wanted-check.ts";

export interface MeshView extends TargetView {
  /** Those of the mesh's namespace. */
  readonly pods: readonly Pod[];
  /** Where nodes may be sources: they try with the rights of the machine. */
  readonly systemNamespace: string;
}

export interface MeshPlan {
  readonly checks: readonly WantedCheck[];
  readonly sources: number;
  readonly targets: number;
  /** What of the mesh leads to no check, for people. */
  readonly problems: readonly string[];
}

/** The checks that a mesh asks for. */
export function planMesh(mesh: ConnectivityMesh, view: MeshView): MeshPlan {
  const { namespace = "" } = mesh.metadata;
  const { sourcesPerTarget } = mesh.spec;
  const { sources, problem } = sourcesOf(mesh, view);
  const found = mesh.spec.targets.map((target, at) => ({ at, ...targetsOf(target, namespace, view) }));
  const targets = new Map(found.flatMap((each) => each.targets.map((target) => [target.identity, target] as const)));
  const perTarget = sourcesPerTarget === "all" ? Infinity : Number(sourcesPerTarget);

  const checks = [...targets.values()].flatMap((target) => {
    const others = sources.filter((source) => !isSame(source, target));
    return chosen(others, target, perTarget).map((source): WantedCheck => ({ name: nameOf(source, target), source, target }));
  });
  const problems = [
    ...(problem === undefined ? [] : [`spec.sources: ${problem}`]),
    ...found.flatMap((each) => (each.problem === undefined ? [] : [`spec.targets[${each.at}]: ${each.problem}`])),
    ...(perTarget >= 1 ? [] : ["spec.sourcesPerTarget: must be at least 1, or all"]),
  ];
  return { checks, sources: sources.length, targets: targets.size, problems };
}

function sourcesOf({ metadata, spec: { sources } }: ConnectivityMesh, view: MeshView): { sources: CheckSource[]; problem?: string } {
  if (sources.nodes) {
    if (metadata.namespace !== view.systemNamespace)
      return { sources: [], problem: `nodes may be sources only of meshes in namespace ${view.systemNamespace}` };
    const selector = sources.nodes.selector;
    const nodes = view.nodes.filter((node) => selects(selector, node.metadata.labels ?? {}));
    if (nodes.length === 0) return { sources: [], problem: "no node has the labels that are asked for" };
    return { sources: nodes.map(({ metadata: { name } }) => ({ kind: "node", name, node: name })) };
  }
  const pods = view.pods.filter((pod) => selects(sources.pods?.selector, pod.metadata.labels ?? {}) && runs(pod));
  if (pods.length === 0) return { sources: [], problem: "no running pod has the labels that are asked for" };
  return { sources: pods.map(({ metadata: { name }, spec: { nodeName = "" } }) => ({ kind: "pod", name, node: nodeName })) };
}

/** One that is ending keeps its checks until it is gone. */
function runs({ spec, status }: Pod): boolean {
  return spec.nodeName !== undefined && status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

function isSame(source: CheckSource, target: CheckTarget): boolean {
  return source.kind === "node" ? target.what === `node/${source.name}` : target.pod === source.name;
}

/** Rendezvous hashing: who comes or goes changes nothing but its own share. */
function chosen(sources: readonly CheckSource[], { identity }: CheckTarget, count: number): readonly CheckSource[] {
  if (count >= sources.length) return sources;
  return sources
    .map((source) => ({ source, rank: createHash("sha256").update(`${source.name}\0${identity}`).digest("hex") }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1))
    .slice(0, Math.max(0, count))
    .map(({ source }) => source);
}

function nameOf(source: CheckSource, target: CheckTarget): string {
  return hashedName(`${source.name}-to-${target.readable}`, `${source.kind}/${source.name}/${target.identity}`, LONGEST.name);
}
