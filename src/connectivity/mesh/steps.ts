import type { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import { type PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { metaTime } from "../../api/time.ts";
import {
  checkpointAnnotation,
  meshAnnotation,
  nodeAnnotation,
  probeAnnotation,
  retiredAnnotation,
  sourceNodeAnnotation,
  targetAnnotation,
  targetNodeAnnotation,
} from "../../api/annotations.ts";
import { probeText } from "../../api/connectivity/probe.ts";
import type { MeshPlan } from "./plan.ts";
import type { DesiredCheck } from "./desired-check.ts";
import { LONGEST_CHECKPOINT_MS } from "../history/stale.ts";
import { objectName, MAX_NAME_LENGTH } from "../../api/object-name.ts";
import { nodeLabel } from "../../kube/members/agent-lease.ts";

export interface PlannedMesh {
  readonly mesh: ConnectivityMesh;
  readonly plan: MeshPlan;
}

/** The checks of a namespace, and what is known about their sources. */
export interface ExistingChecks {
  /** All checks of the namespace, also those of others. */
  readonly checks: ReadonlyMap<string, PodNetworkConnectivityCheck>;
  /** Whether the check's pod or node exists. */
  sourceLives(check: PodNetworkConnectivityCheck): boolean;
  readonly checkpointSeconds: number;
  readonly now: Date;
}

export type MeshStep =
  | { readonly do: "create"; readonly mesh: string; readonly name: string; readonly object: DesiredObject }
  | { readonly do: "change" | "retire"; readonly mesh: string; readonly existing: PodNetworkConnectivityCheck; readonly patch: CheckPatch };

export function checkOf(step: MeshStep): string {
  return step.do === "create" ? step.name : step.existing.metadata.name;
}

export interface MeshProgress {
  readonly existing: number;
  readonly missing: number;
  /** Wanted names that are used by checks of others. */
  readonly taken: readonly string[];
}

export interface NamespaceSteps {
  readonly steps: readonly MeshStep[];
  readonly progress: ReadonlyMap<string, MeshProgress>;
  readonly wanted: ReadonlySet<string>;
}

/** Limits the meshes of a namespace to this many checks. Oldest first: a mesh that does not fit keeps its existing checks. */
export function boundedMeshes(meshes: readonly PlannedMesh[], most: number): PlannedMesh[] {
  let room = most;
  return meshes.map(({ mesh, plan }) => {
    const requested = plan.checks?.length ?? 0;
    if (requested <= room) {
      room -= requested;
      return { mesh, plan };
    }
    const problem = `spec: ${requested} checks requested; the limit is ${most} per namespace, and older meshes use ${most - room}; use fewer sources per target`;
    return { mesh, plan: { ...plan, checks: undefined, problems: [...plan.problems, problem] } };
  });
}

/** Meshes are sorted by age: a check that two want belongs to the first. */
export function planNamespace(meshes: readonly PlannedMesh[], current: ExistingChecks): NamespaceSteps {
  const claims = claimed(meshes);
  const changes: MeshStep[] = [];
  const creations: MeshStep[] = [];
  for (const [name, { check, by }] of claims) {
    const existing = current.checks.get(name);
    if (!existing) {
      const [mesh = ""] = by;
      if (!check.target.isFailing)
        creations.push({ do: "create", mesh, name, object: desiredObject(check, mesh, current.checkpointSeconds) });
      continue;
    }
    const maker = meshOf(existing);
    if (maker === undefined || existing.metadata.deletionTimestamp !== undefined) continue;
    // A check that was retired while its target was away returns when the target is ready.
    if (check.target.isFailing && isRetired(existing)) continue;
    const mesh = by.includes(maker) ? maker : (by[0] ?? maker);
    const patch = patchOf(existing, desiredObject(check, mesh, current.checkpointSeconds));
    if (patch) changes.push({ do: "change", mesh, existing, patch });
  }
  return {
    steps: [...changes, ...retirements(meshes, claims, current), ...creations],
    progress: new Map(meshes.map(({ mesh, plan }) => [mesh.metadata.name, progressOf(mesh.metadata.name, plan, current)])),
    wanted: new Set(claims.keys()),
  };
}

/** Undefined for checks of others. */
export function meshOf({ metadata }: PodNetworkConnectivityCheck): string | undefined {
  return metadata.labels?.[meshAnnotation] === undefined ? undefined : metadata.annotations?.[meshAnnotation];
}

export function isRetired({ metadata }: PodNetworkConnectivityCheck): boolean {
  return metadata.annotations?.[retiredAnnotation] !== undefined;
}

interface Claim {
  readonly check: DesiredCheck;
  readonly by: string[];
}

function claimed(meshes: readonly PlannedMesh[]): Map<string, Claim> {
  const claims = new Map<string, Claim>();
  for (const { mesh, plan } of meshes) {
    for (const check of plan.checks ?? []) {
      const claim = claims.get(check.name);
      if (claim) claim.by.push(mesh.metadata.name);
      else claims.set(check.name, { check, by: [mesh.metadata.name] });
    }
  }
  return claims;
}

/**
 * A check that is no longer wanted is not deleted: its history is kept until it is pruned. If its source is gone it stays as it is, since
 * the source may return under the same name; if its mesh is gone it is retired in any case.
 */
function* retirements(meshes: readonly PlannedMesh[], claims: ReadonlyMap<string, Claim>, current: ExistingChecks): Iterable<MeshStep> {
  const plans = new Map(meshes.map(({ mesh, plan }) => [mesh.metadata.name, plan]));
  const patch: CheckPatch = { metadata: { annotations: { [retiredAnnotation]: metaTime(current.now) } } };
  for (const check of current.checks.values()) {
    const mesh = meshOf(check);
    if (mesh === undefined || claims.has(check.metadata.name) || isRetired(check) || check.metadata.deletionTimestamp !== undefined)
      continue;
    const plan = plans.get(mesh);
    const isGivenUp = plan ? plan.checks !== undefined && current.sourceLives(check) : true;
    if (isGivenUp) yield { do: "retire", mesh, existing: check, patch };
  }
}

function progressOf(mesh: string, { checks }: MeshPlan, current: ExistingChecks): MeshProgress {
  if (!checks) {
    const kept = current.checks.values().filter((check) => meshOf(check) === mesh && !isRetired(check));
    return { existing: [...kept].length, missing: 0, taken: [] };
  }
  let [existing, missing] = [0, 0];
  const taken: string[] = [];
  for (const { name, target } of checks) {
    const check = current.checks.get(name);
    if (!check) missing += target.isFailing ? 0 : 1;
    else if (meshOf(check) === undefined) taken.push(name);
    else existing += isRetired(check) ? 0 : 1;
  }
  return { existing, missing, taken };
}

/** The rate of refreshes of all mesh checks of a cluster. */
const PER_SECOND = 5;
const LONGEST = LONGEST_CHECKPOINT_MS / 1000;
const STEPS = [60, 120, 300, LONGEST];
/** How far the number must fall before checks are refreshed more often: a change is a write to each of them. */
const FALLEN = 0.8;

/** The checkpoint interval for this many checks. `current` is the present one. */
export function checkpointSeconds(checks: number, current: number | undefined): number {
  const step = stepFor(checks);
  if (current === undefined || step >= current) return step;
  return Math.min(current, stepFor(checks / FALLEN));
}

function stepFor(checks: number): number {
  return STEPS.find((seconds) => checks <= seconds * PER_SECOND) ?? LONGEST;
}

type Marks = Record<string, string>;
type Changes = Record<string, string | null>;

interface DesiredObject {
  readonly metadata: { readonly labels: Marks; readonly annotations: Marks };
  readonly spec: { readonly sourcePod: string; readonly targetEndpoint: string };
}

interface CheckPatch {
  metadata?: { labels?: Changes; annotations?: Changes };
  spec?: Changes;
}

function desiredObject({ source, target }: DesiredCheck, mesh: string, checkpointSeconds: number): DesiredObject {
  const isNode = source.kind === "node";
  const probe = target.probe && probeText(target.probe);
  return {
    metadata: {
      labels: { [meshAnnotation]: objectName(mesh, MAX_NAME_LENGTH.label), ...(isNode && { [nodeAnnotation]: nodeLabel(source.name) }) },
      annotations: {
        [meshAnnotation]: mesh,
        [checkpointAnnotation]: String(checkpointSeconds),
        [sourceNodeAnnotation]: source.node,
        [targetAnnotation]: target.what,
        ...(probe !== undefined && { [probeAnnotation]: probe }),
        ...(target.node !== undefined && { [targetNodeAnnotation]: target.node }),
        ...(isNode && { [nodeAnnotation]: source.name }),
      },
    },
    spec: { sourcePod: source.name, targetEndpoint: target.endpoint },
  };
}

/** Undefined if nothing changes. Fields of others stay. */
function patchOf(existing: PodNetworkConnectivityCheck, { metadata, spec }: DesiredObject): CheckPatch | undefined {
  const labels = changes(existing.metadata.labels, metadata.labels, []);
  const annotations = changes(existing.metadata.annotations, metadata.annotations, [
    targetNodeAnnotation,
    probeAnnotation,
    retiredAnnotation,
  ]);
  const patch: CheckPatch = {};
  if (labels || annotations) patch.metadata = { ...(labels && { labels }), ...(annotations && { annotations }) };
  const { targetEndpoint } = existing.spec;
  if (sourceOf(existing) !== spec.sourcePod) patch.spec = { sourcePod: spec.sourcePod, sourcePodName: null };
  if (targetEndpoint !== spec.targetEndpoint) patch.spec = { ...patch.spec, targetEndpoint: spec.targetEndpoint };
  return patch.metadata || patch.spec ? patch : undefined;
}

/** `ours` are removed when they are not wanted. */
function changes(existing: Marks = {}, wanted: Marks, ours: readonly string[]): Changes | undefined {
  const set = Object.entries(wanted).filter(([mark, value]) => existing[mark] !== value);
  const cleared = ours
    .filter((mark) => existing[mark] !== undefined && wanted[mark] === undefined)
    .map((mark): [string, null] => [mark, null]);
  const all = [...set, ...cleared];
  return all.length > 0 ? Object.fromEntries(all) : undefined;
}
