import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import type { Automated } from "../observe/external-kinds.ts";

/** What an object was before a policy changed it, on the object itself: written with the first change and removed with the one that restores. */
export const PRIOR = "plumbline.dev/failover-prior";

/** The epoch, and the generation of the policy, under which an object was last stopped. See `fenceOf`. */
export const EPOCH = "plumbline.dev/failover-epoch";

/** What is remembered, by its name in the annotation. Null: the field was not there, and is restored by removing it. */
interface Priors {
  replicas: number;
  suspend: boolean | null;
  selectPolicy: string | null;
  pausedReplicas: string | null;
  lastSyncTime: string | null;
  automated: Automated;
}

export type PriorValue<V> = { readonly is: "none" } | { readonly is: "unreadable" } | { readonly is: "there"; readonly prior: V };

export function readPrior<F extends keyof Priors>(object: KubeObject, field: F): PriorValue<Priors[F]> {
  const text = object.metadata.annotations?.[PRIOR];
  if (text === undefined) return { is: "none" };
  const prior = fieldOf(text, field);
  return fits(field, prior) ? { is: "there", prior } : { is: "unreadable" };
}

/** The annotation to write with a change; none where there is one already, since what it says is older. One that cannot be read says nothing. */
export function priorAnnotation<F extends keyof Priors>(
  policy: FailoverPolicy,
  object: KubeObject,
  field: F,
  prior: Priors[F],
): Record<string, string> {
  return readPrior(object, field).is === "there" ? {} : newPriorAnnotation(policy, field, prior);
}

/** Whatever was remembered before. */
export function newPriorAnnotation<F extends keyof Priors>(policy: FailoverPolicy, field: F, prior: Priors[F]): Record<string, string> {
  return { [PRIOR]: JSON.stringify({ policy: keyOf(policy), [field]: prior }) };
}

/** Whether the object has been written on the way to the release that is to come, if there is one. */
export function isStamped({ metadata }: KubeObject, fence: string | undefined): boolean {
  return fence === undefined || metadata.annotations?.[EPOCH] === fence;
}

export function stamp(fence: string | undefined): Record<string, string> {
  return fence === undefined ? {} : { [EPOCH]: fence };
}

function fieldOf(text: string, field: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && Object.hasOwn(value, field) ? value[field as keyof typeof value] : undefined;
  } catch {
    return undefined;
  }
}

function fits<F extends keyof Priors>(field: F, prior: unknown): prior is Priors[F] {
  if (field === "replicas") return Number.isSafeInteger(prior) && Number(prior) >= 0;
  if (field === "suspend") return prior === null || typeof prior === "boolean";
  if (field === "automated") return typeof prior === "object" && prior !== null && !Array.isArray(prior);
  return prior === null || typeof prior === "string";
}
