import { epochAnnotation, priorStateAnnotation } from "../../api/annotations.ts";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import type { Automated } from "../observe/external-kinds.ts";

/** Prior values by name. Null: the field was unset, and is removed on restore. */
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
  const text = object.metadata.annotations?.[priorStateAnnotation];
  if (text === undefined) return { is: "none" };
  const prior = fieldOf(text, field);
  return fits(field, prior) ? { is: "there", prior } : { is: "unreadable" };
}

/** Undefined if there is one already, since it is older. An unreadable one does not count. */
export function priorAnnotation<F extends keyof Priors>(
  policy: FailoverPolicy,
  object: KubeObject,
  field: F,
  prior: Priors[F],
): Record<string, string> {
  return readPrior(object, field).is === "there" ? {} : newPriorAnnotation(policy, field, prior);
}

/** Replaces an existing one. */
export function newPriorAnnotation<F extends keyof Priors>(policy: FailoverPolicy, field: F, prior: Priors[F]): Record<string, string> {
  return { [priorStateAnnotation]: JSON.stringify({ policy: keyOf(policy), [field]: prior }) };
}

/** Whether the object was written for the coming release, if there is one. */
export function isStamped({ metadata }: KubeObject, fence: string | undefined): boolean {
  return fence === undefined || metadata.annotations?.[epochAnnotation] === fence;
}

export function stamp(fence: string | undefined): Record<string, string> {
  return fence === undefined ? {} : { [epochAnnotation]: fence };
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
