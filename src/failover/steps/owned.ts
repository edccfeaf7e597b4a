import { exemptedAnnotation } from "../../api/annotations.ts";
import type { Role } from "../../api/failover/failover-policy.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import { ignoresVolume } from "./argo.ts";
import { foundResources } from "./resources.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import { EXEMPT, isExempt, isNamed, type Owner, ownersOf, titleOf } from "../policy/owners.ts";
import { foundVolumes } from "./volume-groups.ts";
import type { Managed } from "../policy/managed.ts";
import { type PolicyFailure, resourceFailure, type Wait } from "../policy/failure.ts";

type Volume = KubeObject & { readonly spec: { readonly replicationState: string } };

/** Owners of a named object, or of the policy itself, that the policy does not name: they may revert a switch. */
export function ownerNotes(observed: ObservedPolicy): Wait[] {
  const { policy, managed } = observed;
  const resources = managed.flatMap((resource) => {
    const result = observed.read(resource);
    if (!("found" in result)) return [];
    return strangers(observed, resource.kind, result.found).map((owner) => ({
      kind: resource.kind,
      namespace: resource.namespace,
      name: resource.name,
      message: unnamed(owner),
    }));
  });
  const { namespace = "", name } = policy.metadata;
  const ofPolicy = ownersOf("FailoverPolicy", policy, managed)
    .filter((owner) => !isLeftAlone(owner, policy))
    .map((owner) => ({
      kind: "FailoverPolicy",
      namespace,
      name,
      message: `${titleOf(owner)} applies this policy (${owner.mark}): ${revertsPolicy(owner, managed)}`,
    }));
  return [...ofPolicy, ...resources];
}

/**
 * Workloads whose replicas an active owner may revert, for the condition Ready. For other kinds, Git rarely has the changed field:
 * `suspend`, an annotation. A Helm release without a HelmRelease does nothing until a person acts.
 */
export function unnamedOwners(observed: ObservedPolicy): PolicyFailure[] {
  return foundResources(observed, ["Deployment", "StatefulSet"]).flatMap(({ resource, object }) =>
    strangers(observed, resource.kind, object)
      .filter((owner) => owner.kind !== "Helm")
      .map((owner) => resourceFailure(resource, "OwnerNotNamed", unnamed(owner))),
  );
}

function unnamed(owner: Owner): string {
  return `${titleOf(owner)} applies it (${owner.mark}) and is not named in the policy: ${undoes(owner)}`;
}

function strangers({ managed }: ObservedPolicy, kind: string, object: KubeObject): Owner[] {
  return ownersOf(kind, object, managed).filter((owner) => !isNamed(owner, managed) && !isLeftAlone(owner, object));
}

function isLeftAlone({ kind }: Owner, object: KubeObject): boolean {
  return kind === "Kustomization" && isExempt(object);
}

function undoes(owner: Owner): string {
  if (owner.kind === "Helm") return "the next helm upgrade may undo a switch";
  return `it may undo a switch. Name it in spec.managedResources${owner.kind === "Kustomization" ? `, or set annotation ${EXEMPT.key}: ${EXEMPT.value} on the object` : ""}`;
}

function revertsPolicy(owner: Owner, managed: readonly Managed[]): string {
  if (isNamed(owner, managed))
    return "it is suspended on a secondary, so a change in Git does not arrive there; remove it from spec.managedResources";
  return "it writes spec.desiredState back after a switch. Change Git first, or use failover switch with --suspend-owner";
}

/**
 * Volumes whose `spec.replicationState` something else writes: a promotion would be reverted under running pods, or a demotion while the
 * other site writes. Except for a suspended Kustomization of the policy: the volume is exempted with the write.
 */
export function ownedVolumes(observed: ObservedPolicy, to: Role): PolicyFailure[] {
  return foundVolumes(observed).flatMap(({ resource, object }) =>
    ownersOf(resource.kind, object, observed.managed)
      .filter((owner) => owner.kind !== "Helm" && !isSafeFrom(observed, owner, resource.kind, object, to))
      .map((owner) => {
        const message = `${resource.kind} ${resource.name} is applied by ${titleOf(owner)}, which writes spec.replicationState back; ${fixFor(owner, isNamed(owner, observed.managed))}`;
        return resourceFailure(resource, "OwnedByGitOps", message);
      }),
  );
}

function isSafeFrom(observed: ObservedPolicy, owner: Owner, kind: string, object: Volume, to: Role): boolean {
  if (isLeftAlone(owner, object)) return true;
  if (owner.kind === "Application") {
    return foundResources(observed, ["Application"]).some(({ resource, object: application }) => {
      return isNamed(owner, [resource]) && ignoresVolume(application, kind, object);
    });
  }
  const isThere = (object.spec.replicationState === "primary") === (to === "primary");
  return foundResources(observed, ["Kustomization"]).some(({ resource, object: { spec } }) => {
    return isNamed(owner, [resource]) && (to === "secondary" || isThere || spec.suspend === true);
  });
}

function fixFor({ kind }: Owner, named: boolean): string {
  if (kind === "Kustomization") return `set annotation ${EXEMPT.key}: ${EXEMPT.value} on it, or take it out of Git`;
  if (kind === "HelmRelease")
    return "a HelmRelease exempts no object: take it out of the chart (annotation helm.sh/resource-policy: keep keeps the object)";
  const settings = "set spec.ignoreDifferences for /spec/replicationState and sync option RespectIgnoreDifferences=true in the Application";
  return named ? settings : `${settings}, and name it in spec.managedResources`;
}

/** Exempts a volume from a Kustomization of the policy. The annotations stay: Git still has the other role. */
export function exemption(observed: ObservedPolicy, kind: string, volume: KubeObject): Record<string, string> {
  const isOwned = ownersOf(kind, volume, observed.managed).some(
    (owner) => owner.kind === "Kustomization" && isNamed(owner, observed.managed),
  );
  return isOwned && !isExempt(volume) ? { [EXEMPT.key]: EXEMPT.value, [exemptedAnnotation]: keyOf(observed.policy) } : {};
}
