import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import { MANAGED_KINDS, type ManagedKind } from "../../api/failover/policy-fields.ts";
import { specProblems } from "./spec-problems.ts";
import { type PolicyFailure, policyFailure } from "./failure.ts";

type Spec = FailoverPolicy["spec"];

export interface Managed {
  readonly kind: ManagedKind;
  readonly namespace: string;
  readonly name: string;
  /** Such as `spec.managedResources[2]`. */
  readonly field: string;
}

const VOLUME_KINDS = ["VolumeReplication", "VolumeGroupReplication"] as const;
export type VolumeKind = (typeof VOLUME_KINDS)[number];

const LEGACY = {
  volumeReplications: "VolumeReplication",
  virtualServices: "VirtualService",
  deployments: "Deployment",
  statefulSets: "StatefulSet",
  cronJobs: "CronJob",
  helmReleases: "HelmRelease",
  kustomizations: "Kustomization",
} as const satisfies Partial<Record<keyof Spec, ManagedKind>>;

const MODES: Readonly<Record<string, "safe" | "unsafe">> = { on: "safe", safe: "safe", off: "unsafe", unsafe: "unsafe" };

/** Without duplicates; `problems` are those of the policy itself. */
export function managedBy(policy: FailoverPolicy): { managed: Managed[]; problems: PolicyFailure[] } {
  const problems: PolicyFailure[] = [];
  const managed = new Map<string, Managed>();
  const invalid = (field: string, message: string) => problems.push(policyFailure(policy, "Invalid", message, { field }));

  const { desiredState, mode } = policy.spec;
  if (desiredState !== "primary" && desiredState !== "secondary") {
    invalid("spec.desiredState", `desiredState is ${JSON.stringify(desiredState)}; set primary or secondary`);
  }
  if (modeOf(policy.spec) === undefined) invalid("spec.mode", `mode is ${JSON.stringify(mode)}; set on, safe, off or unsafe`);

  for (const { field, kind, name, namespace = policy.metadata.namespace ?? "default" } of entries(policy.spec)) {
    if (!isManagedKind(kind)) {
      invalid(`${field}.kind`, `kind ${JSON.stringify(kind)} cannot be switched; one of ${MANAGED_KINDS.join(", ")} can`);
    } else if (typeof name !== "string" || name === "") {
      invalid(`${field}.name`, "name is missing");
    } else {
      const key = `${kind}/${namespace}/${name}`;
      if (!managed.has(key)) managed.set(key, { kind, namespace, name, field });
    }
  }
  if (managed.size === 0 && problems.length === 0) invalid("spec.managedResources", "no resource to switch; name at least one");
  for (const { field, message } of specProblems(policy.spec)) invalid(field, message);
  return { managed: [...managed.values()], problems };
}

/** Undefined if the value is invalid. */
export function modeOf({ mode = "on" }: Pick<Spec, "mode">): "safe" | "unsafe" | undefined {
  const spelling = mode.toLowerCase();
  return Object.hasOwn(MODES, spelling) ? MODES[spelling] : undefined;
}

/** Whether the policy was complete at its current generation. */
export function isComplete({ metadata, spec, status }: FailoverPolicy, to: Role = spec.desiredState): boolean {
  const { transition } = status ?? {};
  return transition?.completionTime !== undefined && transition.to === to && transition.generation === (metadata.generation ?? 0);
}

/** Whether the site has been a complete primary since it last was, or was to be, a secondary: then its takeover is over. */
export function wasPrimary({ status = {} }: FailoverPolicy): boolean {
  const { transition, history = [] } = status;
  const past = transition ? [transition, ...history] : history;
  const down = past.findIndex(({ to }) => to === "secondary");
  return past.slice(0, down < 0 ? past.length : down).some(({ completionTime }) => completionTime !== undefined);
}

function* entries(spec: Spec): Generator<{ field: string; kind: string; name: unknown; namespace?: string | undefined }> {
  for (const [at, { kind, name, namespace }] of (spec.managedResources ?? []).entries()) {
    yield { field: `spec.managedResources[${at}]`, kind, name, namespace };
  }
  for (const [list, kind] of Object.entries(LEGACY) as [keyof typeof LEGACY, ManagedKind][]) {
    for (const [at, { name, namespace }] of (spec[list] ?? []).entries()) yield { field: `spec.${list}[${at}]`, kind, name, namespace };
  }
}

function isManagedKind(kind: string): kind is ManagedKind {
  return (MANAGED_KINDS as readonly string[]).includes(kind);
}

export function isVolumeKind(kind: string): boolean {
  return (VOLUME_KINDS as readonly string[]).includes(kind);
}

/** `data`, or `other/data` for one that is not in the namespace of its policy: the same at both sites, whatever their namespaces are called. */
export function volumeKeys(policy: FailoverPolicy, managed: readonly Managed[]): { key: string; resource: Managed }[] {
  return managed.flatMap((resource) => {
    if (!isVolumeKind(resource.kind)) return [];
    const prefix = resource.namespace === policy.metadata.namespace ? "" : `${resource.namespace}/`;
    return [{ key: `${resource.kind} ${prefix}${resource.name}`, resource }];
  });
}
