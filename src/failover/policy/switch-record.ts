import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import type { KubeObject } from "../../api/kind.ts";
import { ownersOf, titleOf } from "./owners.ts";
import { type PolicyFailure, policyFailure } from "./failure.ts";

/** What a person last asked for with `failover switch`, on the policy: Git does not know it, so nothing that applies Git takes it away. */
const SWITCHED = "plumbline.dev/failover-switched";

interface SwitchRecord {
  readonly to: Role;
  readonly at: string;
  /** The person said that Git asks for the same: what is applied from Git later counts as its author's wish. */
  readonly ownerIsChanged?: boolean;
}

/** A role that was applied from Git after a person had asked for another. */
export interface Revert {
  /** What the person asked for. */
  readonly to: Role;
  readonly at: string;
  readonly manager: string;
}

/** Who applies from Git or charts, by the names in `metadata.managedFields`, and the kind of object that they do it for. */
const MANAGERS: Readonly<Record<string, readonly string[]>> = {
  "kustomize-controller": ["Kustomization"],
  "helm-controller": ["HelmRelease"],
  helm: ["HelmRelease", "Helm"],
  "argocd-controller": ["Application"],
  "argocd-application-controller": ["Application"],
};

export function switchedBy(to: Role, at: Date, ownerIsChanged: boolean): Record<string, string> {
  const record: SwitchRecord = { to, at: at.toISOString(), ...(ownerIsChanged && { ownerIsChanged }) };
  return { [SWITCHED]: JSON.stringify(record) };
}

/** Whether the policy asks for something else than a person did. Only `metadata.managedFields` can say by whom, and caches do not keep them. */
export function differsFromSwitch({ metadata, spec }: FailoverPolicy): boolean {
  const record = recordOf(metadata.annotations?.[SWITCHED]);
  return record !== undefined && !record.ownerIsChanged && record.to !== spec.desiredState;
}

/** A change by another person is no revert. */
export function revertOf(policy: FailoverPolicy): Revert | undefined {
  const record = recordOf(policy.metadata.annotations?.[SWITCHED]);
  const manager = gitOpsManagerOf(policy);
  if (!record || manager === undefined || !differsFromSwitch(policy) || isSuperseded(policy, record)) return undefined;
  return { to: record.to, at: record.at, manager };
}

/**
 * Whether another role was carried out after the record, as after `kubectl edit`, which leaves none. While a revert is known the recorded role is
 * carried out, so Git alone cannot bring this about. A site that was outranked becomes a secondary whatever is wanted, but that is never complete.
 */
function isSuperseded({ status }: FailoverPolicy, { to, at }: SwitchRecord): boolean {
  const { transition } = status ?? {};
  if (!transition || transition.to === to || Date.parse(transition.startTime) <= Date.parse(at)) return false;
  return !Number.isNaN(Date.parse(at)) && (transition.to === "primary" || transition.completionTime !== undefined);
}

/** The policy with the role that counts: a person's until a person says otherwise. */
export function asSwitched(policy: FailoverPolicy): FailoverPolicy {
  const revert = revertOf(policy);
  return revert ? { ...policy, spec: { ...policy.spec, desiredState: revert.to } } : policy;
}

export function revertFailure(policy: FailoverPolicy, { to, at, manager }: Revert): PolicyFailure {
  const { namespace = "", name } = policy.metadata;
  const role: Role = to === "primary" ? "secondary" : "primary";
  const owner = ownersOf("FailoverPolicy", policy).find(({ kind }) => MANAGERS[manager]?.includes(kind));
  const command = `plumbline failover switch ${name} -n ${namespace} --to ${role} --owner-is-changed`;
  const message =
    `${manager}${owner ? ` (${titleOf(owner)})` : ""} set it to ${role} after a person switched this site to ${to} at ${at}. ` +
    `The site stays ${to}: set desiredState ${to} in Git. If ${role} is right, confirm it: ${command}`;
  return policyFailure(policy, "RevertedByOwner", message, { field: "spec.desiredState" });
}

/** The one that last wrote `spec.desiredState`, if it applies from Git or a chart. */
export function gitOpsManagerOf({ metadata: { managedFields = [] } }: KubeObject): string | undefined {
  const writers = (managedFields as readonly ManagedFields[]).filter(({ fieldsV1 }) => fieldsV1?.["f:spec"]?.["f:desiredState"]);
  const newest = writers.toSorted((one, other) => ((one.time ?? "") < (other.time ?? "") ? 1 : -1))[0]?.manager;
  return newest !== undefined && Object.hasOwn(MANAGERS, newest) ? newest : undefined;
}

interface ManagedFields {
  readonly manager?: string;
  readonly time?: string;
  readonly fieldsV1?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

function recordOf(text: string | undefined): SwitchRecord | undefined {
  if (text === undefined) return undefined;
  try {
    const { to, at, ownerIsChanged } = JSON.parse(text) as Partial<SwitchRecord>;
    if (to !== "primary" && to !== "secondary") return undefined;
    return { to, at: typeof at === "string" ? at : "an unknown time", ownerIsChanged: ownerIsChanged === true };
  } catch {
    return undefined;
  }
}
