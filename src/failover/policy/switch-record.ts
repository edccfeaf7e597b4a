import { switchedAnnotation } from "../../api/annotations.ts";
import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import type { KubeObject } from "../../api/kind.ts";
import { ownersOf, titleOf } from "./owners.ts";
import { type PolicyFailure, policyFailure } from "./failure.ts";

interface SwitchRecord {
  readonly to: Role;
  readonly at: string;
  /** The person said that Git has the same role: later changes from Git count. */
  readonly ownerIsChanged?: boolean;
}

/** A role that Git applied after a person had requested another. */
export interface Revert {
  readonly to: Role;
  readonly at: string;
  readonly manager: string;
}

/** Names in `metadata.managedFields` of programs that apply from Git or charts, and the kinds of their owners. */
const MANAGERS: Readonly<Record<string, readonly string[]>> = {
  "kustomize-controller": ["Kustomization"],
  "helm-controller": ["HelmRelease"],
  helm: ["HelmRelease", "Helm"],
  "argocd-controller": ["Application"],
  "argocd-application-controller": ["Application"],
};

export function switchedBy(to: Role, at: Date, ownerIsChanged: boolean): Record<string, string> {
  const record: SwitchRecord = { to, at: at.toISOString(), ...(ownerIsChanged && { ownerIsChanged }) };
  return { [switchedAnnotation]: JSON.stringify(record) };
}

/** Whether the policy has another role than a person requested. Only `metadata.managedFields` says by whom, and caches drop them. */
export function differsFromSwitch({ metadata, spec }: FailoverPolicy): boolean {
  const record = recordOf(metadata.annotations?.[switchedAnnotation]);
  return record !== undefined && !record.ownerIsChanged && record.to !== spec.desiredState;
}

/** A change by another person is no revert. */
export function revertOf(policy: FailoverPolicy): Revert | undefined {
  const record = recordOf(policy.metadata.annotations?.[switchedAnnotation]);
  const manager = gitOpsManagerOf(policy);
  if (!record || manager === undefined || !differsFromSwitch(policy) || isSuperseded(policy, record)) return undefined;
  return { to: record.to, at: record.at, manager };
}

/**
 * Whether another role was executed after the record, as after `kubectl edit`, which leaves none. While a revert is known the recorded role
 * is executed, so Git alone cannot cause this. An outranked site becomes a secondary whatever is wanted, but that is never complete.
 */
function isSuperseded({ status }: FailoverPolicy, { to, at }: SwitchRecord): boolean {
  const { transition } = status ?? {};
  if (!transition || transition.to === to || Date.parse(transition.startTime) <= Date.parse(at)) return false;
  return !Number.isNaN(Date.parse(at)) && (transition.to === "primary" || transition.completionTime !== undefined);
}

/** The policy with the effective role: a person's until a person changes it. */
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
