import type { ManagedKind, Role } from "../../api/failover/failover-policy.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { isStamped, PRIOR, stamp } from "../steps/prior-annotation.ts";
import type { Look, Managed, ManagedObjects, Observed } from "./observed.ts";
import type { PolicyFailure, ResourceState, Wait, Write } from "../steps/step.ts";

/** What one subsystem would write now, and what it waits for. */
export interface Finding {
  readonly writes: readonly Write[];
  readonly waits: readonly Wait[];
}

export function both(one: Finding, other: Finding): Finding {
  return { writes: [...one.writes, ...other.writes], waits: [...one.waits, ...other.waits] };
}

export interface Sighting<K extends ManagedKind> {
  readonly resource: Managed & { readonly kind: K };
  readonly look: Look<ManagedObjects[K]>;
}

/** The resources of these kinds, in the order of the kinds and then of the policy. */
export function sightings<K extends ManagedKind>(observed: Observed, kinds: readonly K[]): Sighting<K>[] {
  return kinds.flatMap((kind) =>
    observed.managed
      .filter((resource): resource is Managed & { readonly kind: K } => resource.kind === kind)
      .map((resource) => ({ resource, look: observed.look(resource) })),
  );
}

/** Those of them that are there. */
export function found<K extends ManagedKind>(
  observed: Observed,
  kinds: readonly K[],
): { resource: Managed & { readonly kind: K }; object: ManagedObjects[K] }[] {
  return sightings(observed, kinds).flatMap(({ resource, look }) => ("found" in look ? [{ resource, object: look.found }] : []));
}

/** One wait for each of them that could not be looked at. */
export function unseen(observed: Observed, kinds: readonly ManagedKind[]): Wait[] {
  return sightings(observed, kinds).flatMap(({ resource, look }) =>
    "error" in look ? [waitFor(resource, `${resource.kind} cannot be read: ${look.error}`)] : [],
  );
}

/** All of a list, or why it is not known. A kind that is not served has no objects. */
export function listed<T>(look: Look<readonly T[]>, kind: string, namespace?: string): { items: readonly T[]; waits: readonly Wait[] } {
  if ("found" in look) return { items: look.found, waits: [] };
  if ("absent" in look) return { items: [], waits: [] };
  const place = namespace === undefined ? {} : { namespace };
  return { items: [], waits: [{ kind, ...place, name: "*", message: `${kind} objects cannot be listed: ${look.error}` }] };
}

/** Sorted once for as long as what was observed lasts: a plan asks for the same from many sides. */
export function perObserved<T>(make: (observed: Observed, namespace: string) => T): (observed: Observed, namespace: string) => T {
  const made = new WeakMap<Observed, Map<string, T>>();
  return (observed, namespace) => {
    const places = made.get(observed) ?? new Map<string, T>();
    made.set(observed, places);
    const known = places.get(namespace) ?? make(observed, namespace);
    places.set(namespace, known);
    return known;
  };
}

/** Each item under all of its keys, once each. */
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

export function waitOf({ kind, namespace, name, message }: PolicyFailure): Wait {
  return { kind, ...(namespace === undefined ? {} : { namespace }), name, message };
}

/** `Deployment shop/web` */
export function called(kind: string, { metadata: { namespace, name } }: KubeObject): string {
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

/** A merge patch of annotations and spec; what is empty is left out. */
export function change(
  kind: Kind | undefined,
  object: KubeObject,
  annotations: Record<string, string | null>,
  spec: object,
  words: string,
): Write {
  if (!kind) throw new Error(`an object was found of a kind that is not served: ${words}`);
  const patch = {
    ...(Object.keys(annotations).length > 0 && { metadata: { annotations } }),
    ...(Object.keys(spec).length > 0 && { spec }),
  };
  return { kind, object, patch, words };
}

/** The mark of what was stopped already, where it has to carry one and does not yet. */
export function mark(kind: Kind | undefined, object: KubeObject, fence: string | undefined, name: string): Write[] {
  return isStamped(object, fence) ? [] : [change(kind, object, stamp(fence), {}, `mark ${name}`)];
}

/** What is wrong with a resource that was not found. */
export function lookFailure({ resource, look }: Sighting<ManagedKind>): PolicyFailure | undefined {
  const { kind, namespace, name, field } = resource;
  const failure = { kind, namespace, name, field, class: "Transient" as const };
  if ("found" in look) return undefined;
  if ("error" in look) {
    return { ...failure, reason: look.code === "Forbidden" ? "Forbidden" : "LookFailed", message: `${kind} cannot be read: ${look.error}` };
  }
  return look.absent === "kind"
    ? { ...failure, reason: "KindNotInstalled", message: `This cluster does not know the kind ${kind}` }
    : { ...failure, reason: "NotFound", message: `${kind} does not exist` };
}

/** What the status says of what can be suspended. */
export function suspendState({ resource, look }: Sighting<"CronJob" | "HelmRelease" | "Kustomization">, to: Role): ResourceState {
  const object = "found" in look ? look.found : undefined;
  const isRemembered = object?.metadata.annotations?.[PRIOR] !== undefined;
  if (object?.spec.suspend === true) {
    return { resource, state: "Suspended", ...(to === "primary" && !isRemembered && { message: "Left suspended: it was so before" }) };
  }
  return {
    resource,
    state: "Active",
    ...(to === "secondary" && isRemembered && { message: "Somebody else resumed it; it is suspended again" }),
  };
}

/** What the status says of a resource that was not found. */
export function unfoundState({ resource, look }: Sighting<ManagedKind>): ResourceState | undefined {
  const error = lookFailure({ resource, look })?.message;
  return error === undefined ? undefined : { resource, state: "error" in look ? "Error" : "Not Found", error };
}
