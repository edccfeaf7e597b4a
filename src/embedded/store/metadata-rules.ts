import { forbidden, invalid, required, tooLong, type FieldError } from "../../api/admission/field-error.ts";
import type { ObjectMeta, OwnerReference } from "../../api/kind.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import type { WrittenMeta } from "./metadata.ts";
import { labelProblems, labelValueProblems, qualifiedNameProblems } from "../kinds/syntax.ts";

const ANNOTATIONS_MAX = 256 * 1024;

/** A generated name is already set. */
export function metadataErrors(metadata: WrittenMeta, kind: ServedKind): FieldError[] {
  const { name = "", generateName = "" } = metadata;
  const { nameComplaints } = kind.rules;
  // A trailing dash is valid, since five letters follow.
  const prefix = generateName.length > 1 && generateName.endsWith("-") ? `${generateName.slice(0, -2)}a` : generateName;
  return [
    ...(generateName ? problems("metadata.generateName", generateName, nameComplaints(prefix)) : []),
    ...(name ? problems("metadata.name", name, nameComplaints(name)) : [required("metadata.name", "name or generateName is required")]),
    ...namespaceErrors(metadata, kind),
    ...contentErrors(metadata),
    ...finalizerErrors(metadata.finalizers ?? []),
    ...unqualifiedErrors(metadata, kind),
  ];
}

/** The kube-apiserver's checks overlap, and so do these messages. */
export function metadataUpdateErrors(metadata: WrittenMeta, stored: ObjectMeta, kind: ServedKind): FieldError[] {
  const common = [...contentErrors(metadata), ...finalizerErrors(metadata.finalizers ?? [])];
  const change = [...changeErrors(metadata, stored), ...contentErrors(metadata)];
  if (kind.custom) return [...common, ...change, ...change];
  return [
    ...new Map(
      [...common, ...change, ...unqualifiedErrors(metadata, kind)].map((error) => [`${error.field}: ${error.message}`, error]),
    ).values(),
  ];
}

function namespaceErrors({ namespace }: WrittenMeta, { scope }: ServedKind): FieldError[] {
  if (scope === "Cluster") return namespace ? [forbidden("metadata.namespace", "not allowed on this type")] : [];
  if (!namespace) return [required("metadata.namespace")];
  return problems("metadata.namespace", namespace, labelProblems(namespace));
}

function contentErrors({ labels = {}, annotations = {}, ownerReferences = [] }: WrittenMeta): FieldError[] {
  return [
    ...Object.entries(labels).flatMap(([key, value]) => labelErrors(key, value)),
    ...Object.keys(annotations).flatMap((key) => problems("metadata.annotations", key, qualifiedNameProblems(key.toLowerCase()))),
    ...(sizeOf(annotations) > ANNOTATIONS_MAX ? [tooLong("metadata.annotations", ANNOTATIONS_MAX)] : []),
    ...ownerErrors(ownerReferences),
  ];
}

function labelErrors(key: string, value: string): FieldError[] {
  const keyErrors = problems("metadata.labels", key, qualifiedNameProblems(key));
  return keyErrors.concat(problems("metadata.labels", value, labelValueProblems(value)));
}

const problems = (field: string, value: string, texts: readonly string[]) => texts.map((text) => invalid(field, value, text));

function sizeOf(texts: Record<string, string>): number {
  return Object.entries(texts).reduce((size, [key, value]) => size + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
}

function ownerErrors(owners: readonly OwnerReference[]): FieldError[] {
  const errors = owners.flatMap((owner, at) => errorsOfOwner(owner, `metadata.ownerReferences[${at}]`));
  const [first, second] = owners.filter(({ controller }) => controller).map(({ kind, name }) => `${kind}/${name}`);
  if (first !== undefined && second !== undefined) {
    const why = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`;
    errors.push(invalid("metadata.ownerReferences", owners, why));
  }
  return errors;
}

function errorsOfOwner(owner: OwnerReference, path: string): FieldError[] {
  const errors = (["apiVersion", "kind", "name", "uid"] as const)
    .filter((field) => owner[field] === "")
    .map((field) => required(`${path}.${field}`, "must not be empty"));
  if (owner.apiVersion.split("/").length > 2) {
    errors.push(invalid(`${path}.apiVersion`, owner.apiVersion, "must be <group>/<version> or <version>"));
  }
  if (owner.apiVersion === "v1" && owner.kind === "Event") {
    errors.push(invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"));
  }
  return errors;
}

function finalizerErrors(finalizers: readonly string[]): FieldError[] {
  const errors = finalizers.flatMap((name) => problems("metadata.finalizers", name, qualifiedNameProblems(name)));
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    errors.push(invalid("metadata.finalizers", finalizers, "finalizer orphan and foregroundDeletion cannot be both set"));
  }
  return errors;
}

const STANDARD = new Set(["kubernetes", "orphan", "foregroundDeletion"]);

/** Most built-in kinds require a domain in a finalizer. */
function unqualifiedErrors({ finalizers = [] }: WrittenMeta, { rules }: ServedKind): FieldError[] {
  if (!rules.qualifiedFinalizers) return [];
  return finalizers.flatMap((name, at) => {
    if (name.includes("/") || STANDARD.has(name)) return [];
    return [invalid(`metadata.finalizers[${at}]`, name, "name is neither a standard finalizer name nor is it fully qualified")];
  });
}

/** Custom kinds only recommend it. */
export function finalizerWarnings(metadata: ObjectMeta, stored: ObjectMeta | undefined, kind: ServedKind): string[] {
  if (!kind.custom) return [];
  const added = new Set(metadata.finalizers?.filter((name) => !stored?.finalizers?.includes(name)));
  return [...added]
    .sort((a, b) => (a < b ? -1 : 1))
    .filter((name) => !name.includes("/") && !STANDARD.has(name))
    .map((name) => {
      const hint = name.includes(".") ? " including a path (/)" : "";
      return `metadata.finalizers: "${name}": prefer a domain-qualified finalizer name${hint} to avoid accidental conflicts with other finalizer writers`;
    });
}

function changeErrors(metadata: WrittenMeta, stored: ObjectMeta): FieldError[] {
  const fixed = ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] as const;
  const added = (metadata.finalizers ?? []).filter((name) => !stored.finalizers?.includes(name)).sort();
  return [
    ...(stored.deletionTimestamp && added.length > 0
      ? [
          forbidden(
            "metadata.finalizers",
            `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => JSON.stringify(name)).join(", ")}}`,
          ),
        ]
      : []),
    ...fixed
      .filter((field) => metadata[field] !== stored[field])
      .map((field) => invalid(`metadata.${field}`, metadata[field] ?? null, "field is immutable")),
  ];
}
