import { isObject, type JsonObject } from "../../api/admission/value.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { StoredObject } from "../kinds/served-kind.ts";
import { difference, merged, same, without } from "../kinds/json.ts";

/** Where a manifest stands. */
export interface ManifestSource {
  readonly path: string;
  readonly line: number;
  /** We wrote the file, for someone who created the object through the API; it follows the object. */
  readonly applied?: true;
}

/** What a file says about an object. */
export interface Declaration {
  /** As it was parsed: no defaults, nothing that programs added. */
  readonly manifest: KubeObject;
  readonly source: ManifestSource;
}

/** A field in which an object is not as its file, or as its kind's defaults, would have it. */
export interface Override {
  /** `spec.vni`, `metadata.labels[app]` */
  readonly field: string;
  /** Undefined where the file has nothing. */
  readonly declared: unknown;
  readonly current: unknown;
}

/** The part of a manifest that it decides over. */
export function desiredPart(manifest: object, options: { status: boolean }): JsonObject {
  const written: JsonObject = isObject((manifest as JsonObject)["metadata"]) ? ((manifest as JsonObject)["metadata"] as JsonObject) : {};
  const metadata = Object.fromEntries(
    ["labels", "annotations", "finalizers", "ownerReferences"].filter((name) => written[name]).map((name) => [name, written[name]]),
  );
  const content = without(manifest, "apiVersion", "kind", "metadata", ...(options.status ? [] : ["status"]));
  return { metadata, ...content };
}

/** The current object with what the file has changed since; what programs wrote and the file did not touch stays. */
export function redeclared(current: StoredObject, before: object | undefined, after: object, options: { status: boolean }): JsonObject {
  const change = difference(before ? desiredPart(before, options) : {}, desiredPart(after, options));
  return merged(current, change) as JsonObject;
}

/** The manifest with what someone has changed through the API since. */
export function followed(manifest: KubeObject, before: StoredObject, after: StoredObject): KubeObject {
  const change = difference(desiredPart(before, { status: false }), desiredPart(after, { status: false }));
  return merged(manifest, change) as KubeObject;
}

/** Where an object differs from its declaration; `baseline` is what the declaration alone would have made. */
export function overridesOf(current: StoredObject, baseline: StoredObject, manifest: KubeObject): Override[] {
  const own = without(current, "apiVersion", "kind", "metadata", "status");
  const declared = without(baseline, "apiVersion", "kind", "metadata", "status");
  return [...metadataOverrides(current, manifest), ...differences(declared, own, "")];
}

/** The current object as its declaration alone would have made it; what the declaration does not decide over stays. */
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

/** Labels and annotations that programs add are theirs; only those that the file names can be overridden. */
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
