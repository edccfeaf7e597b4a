import type { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { metaTime } from "../../api/time.ts";
import { meshMark, retiredMark } from "../../api/annotations.ts";
import type { MeshPlan } from "./plan.ts";
import type { WantedCheck } from "./desired-check.ts";
import { type CheckPatch, patchOf, type WantedObject, wantedObject } from "./desired-object.ts";

export interface PlannedMesh {
  readonly mesh: ConnectivityMesh;
  readonly plan: MeshPlan;
}

/** What a namespace holds, and what its meshes are allowed to know about it. */
export interface HeldView {
  /** Every check of the namespace, whoever made it. */
  readonly checks: ReadonlyMap<string, PodNetworkConnectivityCheck>;
  /** Whether the check's pod or node is still there. */
  sourceLives(check: PodNetworkConnectivityCheck): boolean;
  readonly checkpointSeconds: number;
  readonly now: Date;
}

export type Step =
  | { readonly do: "create"; readonly mesh: string; readonly name: string; readonly object: WantedObject }
  | { readonly do: "change" | "retire"; readonly mesh: string; readonly held: PodNetworkConnectivityCheck; readonly patch: CheckPatch };

/** The name of the check that it is about. */
export function checkOf(step: Step): string {
  return step.do === "create" ? step.name : step.held.metadata.name;
}

/** How far a mesh has come. */
export interface Progress {
  readonly existing: number;
  readonly missing: number;
  /** Names that it wants and that somebody's own check has. */
  readonly taken: readonly string[];
}

export interface NamespaceSteps {
  readonly steps: readonly Step[];
  readonly progress: ReadonlyMap<string, Progress>;
  /** The names of all checks that some mesh wants. */
  readonly wanted: ReadonlySet<string>;
}

/** Holds the meshes of a namespace to this many checks. They come oldest first: one for which no room is left keeps what checks it has. */
export function boundedMeshes(meshes: readonly PlannedMesh[], most: number): PlannedMesh[] {
  let room = most;
  return meshes.map(({ mesh, plan }) => {
    const asked = plan.checks?.length ?? 0;
    if (asked <= room) {
      room -= asked;
      return { mesh, plan };
    }
    const problem = `spec: ${asked} checks are asked for, and the meshes of a namespace make ${most} at most, of which older ones make ${most - room}; ask for fewer sources per target`;
    return { mesh, plan: { ...plan, checks: undefined, problems: [...plan.problems, problem] } };
  });
}

/** What must change so that the checks of a namespace are those that its meshes ask for. Meshes come oldest first: a check that two want is the first's. */
export function planNamespace(meshes: readonly PlannedMesh[], held: HeldView): NamespaceSteps {
  const claims = claimed(meshes);
  const changes: Step[] = [];
  const creations: Step[] = [];
  for (const [name, { check, by }] of claims) {
    const existing = held.checks.get(name);
    if (!existing) {
      const [mesh = ""] = by;
      if (!check.target.isFailing) creations.push({ do: "create", mesh, name, object: wantedObject(check, mesh, held.checkpointSeconds) });
      continue;
    }
    const maker = makerOf(existing);
    if (maker === undefined || existing.metadata.deletionTimestamp !== undefined) continue;
    // What was given up while its target was away is taken up again when the target is well.
    if (check.target.isFailing && isRetired(existing)) continue;
    const mesh = by.includes(maker) ? maker : (by[0] ?? maker);
    const patch = patchOf(existing, wantedObject(check, mesh, held.checkpointSeconds));
    if (patch) changes.push({ do: "change", mesh, held: existing, patch });
  }
  return {
    steps: [...changes, ...retirements(meshes, claims, held), ...creations],
    progress: new Map(meshes.map(({ mesh, plan }) => [mesh.metadata.name, progressOf(mesh.metadata.name, plan, held)])),
    wanted: new Set(claims.keys()),
  };
}

/** The mesh that made the check; undefined for one that somebody else made. */
export function makerOf({ metadata }: PodNetworkConnectivityCheck): string | undefined {
  return metadata.labels?.[meshMark] === undefined ? undefined : metadata.annotations?.[meshMark];
}

export function isRetired({ metadata }: PodNetworkConnectivityCheck): boolean {
  return metadata.annotations?.[retiredMark] !== undefined;
}

interface Claim {
  readonly check: WantedCheck;
  /** The meshes that want it. */
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
 * Nobody deletes a check for being no longer wanted: what it has seen is kept until it is pruned. One whose source is gone is left as it is, for
 * the source may come back under the same name; one whose mesh is gone is given up in any case.
 */
function* retirements(meshes: readonly PlannedMesh[], claims: ReadonlyMap<string, Claim>, held: HeldView): Iterable<Step> {
  const plans = new Map(meshes.map(({ mesh, plan }) => [mesh.metadata.name, plan]));
  const patch: CheckPatch = { metadata: { annotations: { [retiredMark]: metaTime(held.now) } } };
  for (const check of held.checks.values()) {
    const mesh = makerOf(check);
    if (mesh === undefined || claims.has(check.metadata.name) || isRetired(check) || check.metadata.deletionTimestamp !== undefined)
      continue;
    const plan = plans.get(mesh);
    const isGivenUp = plan ? plan.checks !== undefined && held.sourceLives(check) : true;
    if (isGivenUp) yield { do: "retire", mesh, held: check, patch };
  }
}

function progressOf(mesh: string, { checks }: MeshPlan, held: HeldView): Progress {
  if (!checks) {
    const kept = held.checks.values().filter((check) => makerOf(check) === mesh && !isRetired(check));
    return { existing: [...kept].length, missing: 0, taken: [] };
  }
  let [existing, missing] = [0, 0];
  const taken: string[] = [];
  for (const { name, target } of checks) {
    const check = held.checks.get(name);
    if (!check) missing += target.isFailing ? 0 : 1;
    else if (makerOf(check) === undefined) taken.push(name);
    else existing += isRetired(check) ? 0 : 1;
  }
  return { existing, missing, taken };
}
