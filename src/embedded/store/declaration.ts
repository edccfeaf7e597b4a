import { isObject, type JsonObject } from "../../api/admission/value.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { StoredObject } from "../kinds/served-kind.ts";
import { difference, merged, same, without } from "../kinds/json.ts";

export interface ManifestSource {
  readonly path: string;
  readonly line: number;
  /** Written by this server for an object created through the API; it follows the object. */
  readonly applied?: true;
}

export interface Declaration {
  /** As parsed, without defaults. */
  readonly manifest: KubeObject;
  readonly source: ManifestSource;
}

/** A field in which an object differs from its file or its kind's defaults. */
export interface Override {
  /** `spec.vni`, `metadata.labels[app]` */
  readonly field: string;
  /** Undefined if the file does not have the field. */
  readonly declared: unknown;
  readonly current: unknown;
}

/** The fields that a manifest controls. */
export function desiredPart(manifest: object, options: { status: boolean }): JsonObject {
  const written: JsonObject = isObject((manifest as JsonObject)["metadata"]) ? ((manifest as JsonObject)["metadata"] as JsonObject) : {};
  const metadata = Object.fromEntries(
    ["labels", "annotations", "finalizers", "ownerReferences"].filter((name) => written[name]).map((name) => [name, written[name]]),
  );
  const content = without(manifest, "apiVersion", "kind", "metadata", ...(options.status ? [] : ["status"]));
  return { metadata, ...content };
}

/** The current object with the changes of the file; other writes stay. */
export function redeclared(current: StoredObject, before: object | undefined, after: object, options: { status: boolean }): JsonObject {
  const change = difference(before ? desiredPart(before, options) : {}, desiredPart(after, options));
  return merged(current, change) as JsonObject;
}

/** The manifest with the changes made through the API. */
export function followed(manifest: KubeObject, before: StoredObject, after: StoredObject): KubeObject {
  const change = difference(desiredPart(before, { status: false }), desiredPart(after, { status: false }));
  return merged(manifest, change) as KubeObject;
}

/** `baseline` is the object that the manifest alone would have created. */
export function overridesOf(current: StoredObject, baseline: StoredObject, manifest: KubeObject): Override[] {
  const own = without(current, "apiVersion", "kind", "metadata", "status");
  const declared = without(baseline, "apiVersion", "kind", "metadata", "status");
  return [...metadataOverrides(current, manifest), ...differences(declared, own, "")];
}

/** Resets the fields that the manifest controls. */
export function withoutOverrides(current: StoredObject, baseline: StoredObject, manifest: KubeObject): JsonObject {
  const { labels, annotations, ...metadata } = current.metadata;
  const restored = {
    ...metadata,
    labels: { ...labels, ...manifest.metadata.labels },
    annotations: { ...annotations, ...manifest.metadata.annotations },
  };
  const status = current["status"] === undefined ? {} : { status: current["status"] };
  return { ...without(baseline, "metadata", "status"), metadata: restored, ...status };
}

/** Only labels and annotations of the file can be overridden; the others belong to programs. */
function metadataOverrides(current: StoredObject, manifest: KubeObject): Override[] {
  return (["labels", "annotations"] as const).flatMap((name) =>
    Object.entries(manifest.metadata[name] ?? {})
      .filter(([key, value]) => current.metadata[name]?.[key] !== value)
      .map(([key, declared]) => ({ field: `metadata.${name}[${key}]`, declared, current: current.metadata[name]?.[key] })),
  );
}

function differences(declared: unknown, current: unknown, field: string): Override[] {
  if (same(declared, current)) return [];
  if (!isObject(declared) || !isObject(current)) return [{ field, declared, current }];
  const names = new Set([...Object.keys(declared), ...Object.keys(current)]);
  return [...names].flatMap((name) => differences(declared[name], current[name], field === "" ? name : `${field}.${name}`));
}
