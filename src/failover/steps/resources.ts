import { priorStateAnnotation } from "../../api/annotations.ts";
import type { Role } from "../../api/failover/failover-policy.ts";
import type { ManagedKind } from "../../api/failover/policy-fields.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { isStamped, stamp } from "./prior-annotation.ts";
import type { ReadResult, ManagedObjects, ObservedPolicy } from "../observe/observed.ts";
import type { ResourceState, PlannedWrite, StepInput } from "./step.ts";
import type { Managed } from "../policy/managed.ts";
import type { PolicyFailure, Wait } from "../policy/failure.ts";

export function both(one: StepInput, other: StepInput): StepInput {
  return { writes: [...one.writes, ...other.writes], waits: [...one.waits, ...other.waits] };
}

export interface ResourceRead<K extends ManagedKind> {
  readonly resource: Managed & { readonly kind: K };
  readonly result: ReadResult<ManagedObjects[K]>;
}

/** In the order of the kinds, then of the policy. */
export function readResources<K extends ManagedKind>(observed: ObservedPolicy, kinds: readonly K[]): ResourceRead<K>[] {
  return kinds.flatMap((kind) =>
    observed.managed
      .filter((resource): resource is Managed & { readonly kind: K } => resource.kind === kind)
      .map((resource) => ({ resource, result: observed.read(resource) })),
  );
}

export function foundResources<K extends ManagedKind>(
  observed: ObservedPolicy,
  kinds: readonly K[],
): { resource: Managed & { readonly kind: K }; object: ManagedObjects[K] }[] {
  return readResources(observed, kinds).flatMap(({ resource, result }) => ("found" in result ? [{ resource, object: result.found }] : []));
}

export function unreadable(observed: ObservedPolicy, kinds: readonly ManagedKind[]): Wait[] {
  return readResources(observed, kinds).flatMap(({ resource, result }) => ("error" in result ? [unread(resource, result.error)] : []));
}

/** Waits if the list is unknown. A kind that is not served has no objects. */
export function itemsOf<T>(
  result: ReadResult<readonly T[]>,
  kind: string,
  namespace?: string,
): { items: readonly T[]; waits: readonly Wait[] } {
  if ("found" in result) return { items: result.found, waits: [] };
  if ("absent" in result) return { items: [], waits: [] };
  const scope = namespace === undefined ? {} : { namespace };
  return { items: [], waits: [{ kind, ...scope, name: "*", message: `${kind} objects cannot be listed: ${result.error}`, unread: true }] };
}

/** Computed once per observation: a plan needs it many times. */
export function perObserved<T>(
  make: (observed: ObservedPolicy, namespace: string) => T,
): (observed: ObservedPolicy, namespace: string) => T {
  const made = new WeakMap<ObservedPolicy, Map<string, T>>();
  return (observed, namespace) => {
    const byNamespace = made.get(observed) ?? new Map<string, T>();
    made.set(observed, byNamespace);
    const known = byNamespace.get(namespace) ?? make(observed, namespace);
    byNamespace.set(namespace, known);
    return known;
  };
}

/** Each item under all of its keys. */
export function grouped<T>(items: readonly T[], keysOf: (item: T) => readonly string[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    for (const key of new Set(keysOf(item))) {
      const group = groups.get(key);
      if (group) group.push(item);
      else groups.set(key, [item]);
    }
  }
  return groups;
}

export function namespacesOf(resources: readonly { readonly namespace: string }[]): string[] {
  return [...new Set(resources.map(({ namespace }) => namespace))];
}

export function waitFor({ kind, namespace, name }: Pick<Managed, "kind" | "namespace" | "name">, message: string): Wait {
  return { kind, namespace, name, message };
}

export function unread({ kind, namespace, name }: Pick<Managed, "kind" | "namespace" | "name">, error: string): Wait {
  return { kind, namespace, name, message: `${kind} cannot be read: ${error}`, unread: true };
}

export function waitOf({ kind, namespace, name, message }: PolicyFailure): Wait {
  return { kind, ...(namespace === undefined ? {} : { namespace }), name, message };
}

/** `Deployment shop/web` */
export function kindAndName(kind: string, { metadata: { namespace, name } }: KubeObject): string {
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

/** A merge patch of annotations and spec; empty parts are left out. */
export function change(
  kind: Kind | undefined,
  object: KubeObject,
  annotations: Record<string, string | null>,
  spec: object,
  description: string,
): PlannedWrite {
  if (!kind) throw new Error(`an object was found of a kind that is not served: ${description}`);
  const patch = {
    ...(Object.keys(annotations).length > 0 && { metadata: { annotations } }),
    ...(Object.keys(spec).length > 0 && { spec }),
  };
  return { kind, object, patch, description };
}

/** The stamp for an object that is already stopped and does not have it yet. */
export function stampOnly(kind: Kind | undefined, object: KubeObject, fence: string | undefined, name: string): PlannedWrite[] {
  return isStamped(object, fence) ? [] : [change(kind, object, stamp(fence), {}, `mark ${name}`)];
}

/** Undefined if the resource was found. */
export function readFailure({ resource, result }: ResourceRead<ManagedKind>): PolicyFailure | undefined {
  const { kind, namespace, name, field } = resource;
  const failure = { kind, namespace, name, field, class: "Transient" as const };
  if ("found" in result) return undefined;
  if ("error" in result) {
    return {
      ...failure,
      reason: result.code === "Forbidden" ? "Forbidden" : "ReadFailed",
      message: `${kind} cannot be read: ${result.error}`,
    };
  }
  return result.absent === "kind"
    ? { ...failure, reason: "KindNotInstalled", message: `This cluster does not serve kind ${kind}` }
    : { ...failure, reason: "NotFound", message: `${kind} does not exist` };
}

export function suspendState({ resource, result }: ResourceRead<"CronJob" | "HelmRelease" | "Kustomization">, to: Role): ResourceState {
  const object = "found" in result ? result.found : undefined;
  const isRemembered = object?.metadata.annotations?.[priorStateAnnotation] !== undefined;
  if (object?.spec.suspend === true) {
    return {
      resource,
      state: "Suspended",
      ...(to === "primary" && !isRemembered && { message: "Left suspended: it was suspended before" }),
    };
  }
  return {
    resource,
    state: "Active",
    ...(to === "secondary" && isRemembered && { message: "Resumed by another controller or person; suspending it again" }),
  };
}

export function missingState({ resource, result }: ResourceRead<ManagedKind>): ResourceState | undefined {
  const error = readFailure({ resource, result })?.message;
  return error === undefined ? undefined : { resource, state: "error" in result ? "Error" : "Not Found", error };
}
