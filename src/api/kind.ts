export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: unknown[];
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

export type ConditionStatus = "True" | "False" | "Unknown";

export interface Condition {
  type: string;
  status: ConditionStatus;
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

export type Scope = "Namespaced" | "Cluster";

/** `T` is the object as the server stores it. */
export interface Kind<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: Scope;
  readonly shortNames?: readonly string[];
  /** Carries the object's type; never present at run time. */
  readonly stored?: T;
}

/** Declares a built-in kind: its name and the fields that we read. */
export function builtinKind<T extends KubeObject>(kind: Kind<T>): Kind<T> {
  return kind;
}

export function apiVersionOf(kind: Kind): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}

/** The group of an apiVersion; "" is the core group. */
export function groupOf(apiVersion = ""): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

/** The manifests of a kind, of any version. */
export function manifestsOf<T extends KubeObject>({ group, kind }: Kind<T>, objects: readonly KubeObject[]): T[] {
  return objects.filter((object) => object.kind === kind && groupOf(object.apiVersion) === group) as T[];
}

/** `namespace/name`, or `name` of a cluster-scoped object. */
export function keyOf(object: { metadata: { name: string; namespace?: string } }): string {
  const { name, namespace } = object.metadata;
  return namespace ? `${namespace}/${name}` : name;
}

export function parseKey(key: string): { name: string; namespace?: string } {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
