import type { JsonObject } from "../../api/admission/value.ts";
import { apiVersionOf, type KubeObject } from "../../api/kind.ts";
import { badRequest } from "./api-error.ts";
import type { ServedKind, StoredObject } from "../kinds/served-kind.ts";
import { prepareCreate } from "./admission.ts";
import { overridesOf, redeclared, withoutOverrides, type Override, type ManifestSource } from "./declaration.ts";
import type { StoreEntry } from "./entry.ts";
import { same, without } from "../kinds/json.ts";
import type { StoreKey, Store } from "./store.ts";

export interface ManifestResult {
  readonly kind: ServedKind;
  readonly ref: StoreKey;
  readonly outcome: "created" | "changed" | "unchanged";
  readonly warnings: readonly string[];
}

/**
 * Applies what changed in the file since it was last read; writes of programs stay until the file changes the same field. Throws an
 * ApiError, and the last valid version stays.
 */
export function applyManifest(store: Store, manifest: KubeObject, source: ManifestSource): ManifestResult {
  const { kind, ref } = identify(store, manifest);
  const stored = store.find(kind, ref);
  const before = store.declarationOf(kind, ref);
  if (stored && before && same(before.manifest, manifest)) {
    store.moved(kind, ref, source);
    return { kind, ref, outcome: "unchanged", warnings: [] };
  }
  const body = inStoredVersion(kind, manifest);
  const declaration = { manifest, source };
  if (!stored) {
    ensureNamespace(store, ref);
    const { warnings } = store.create(kind, ref.namespace, body, { declaration });
    return { kind, ref, outcome: "created", warnings };
  }
  const status = kind.rules.statusFromManifest === true;
  const { warnings } = store.update(kind, ref, (current) => redeclared(current ?? stored.object, before?.manifest, body, { status }), {
    half: status ? "both" : "main",
    declaration,
  });
  return { kind, ref, outcome: "changed", warnings };
}

/** A namespace stays while other files have objects in it. */
export function removeManifest(store: Store, kind: ServedKind, ref: StoreKey): void {
  if (!store.declarationOf(kind, ref)) return;
  if (kind.kind === "Namespace" && holdsDeclared(store, ref.name)) store.update(kind, ref, current, { declaration: null });
  else store.delete(kind, ref, { undeclared: true });
}

/** Fields in which the object differs from its file. */
export function overrides(store: Store, kind: ServedKind, ref: StoreKey): Override[] {
  const declaration = store.declarationOf(kind, ref);
  const stored = store.find(kind, ref);
  if (!declaration || !stored) return [];
  return overridesOf(stored.object, baselineOf(kind, stored, declaration.manifest), declaration.manifest);
}

export function resetOverrides(store: Store, kind: ServedKind, ref: StoreKey): StoreEntry {
  const stored = store.get(kind, ref);
  const declaration = store.declarationOf(kind, ref);
  if (!declaration) throw badRequest(`${kind.kind} ${ref.name} is not in a manifest file: nothing to reset to`);
  const baseline = baselineOf(kind, stored, declaration.manifest);
  return store.update(kind, ref, () => withoutOverrides(stored.object, baseline, declaration.manifest)).entry;
}

const current = (stored: StoredObject | undefined): JsonObject => ({ ...stored });

function identify(store: Store, manifest: KubeObject): { kind: ServedKind; ref: StoreKey } {
  const { apiVersion = "", kind: name = "", metadata } = manifest;
  const kind = store.kindOf(apiVersion, name);
  if (!kind) throw badRequest(`no matches for kind "${name}" in version "${apiVersion}"`);
  if (kind.scope === "Cluster") return { kind, ref: { name: metadata.name } };
  return { kind, ref: { name: metadata.name, namespace: metadata.namespace || "default" } };
}

function inStoredVersion(kind: ServedKind, manifest: KubeObject): JsonObject {
  const namespace = kind.scope === "Cluster" ? {} : { namespace: manifest.metadata.namespace || "default" };
  return { ...manifest, apiVersion: apiVersionOf(kind), metadata: { ...without(manifest.metadata, "namespace"), ...namespace } };
}

/** A file need not declare the namespace of its objects. */
function ensureNamespace(store: Store, { namespace }: StoreKey): void {
  const kind = store.kindOf("v1", "Namespace");
  if (!kind || namespace === undefined || store.find(kind, { name: namespace })) return;
  store.create(kind, undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
}

function holdsDeclared(store: Store, namespace: string): boolean {
  return store.declared().some(({ entry }) => entry.object.metadata.namespace === namespace);
}

/** The object that the manifest alone would have created. */
function baselineOf(kind: ServedKind, stored: StoreEntry, manifest: KubeObject): StoredObject {
  const { uid = "", creationTimestamp = "", namespace } = stored.object.metadata;
  const fresh = { namespace, uid, now: creationTimestamp, generateName: () => stored.object.metadata.name };
  return prepareCreate(kind, inStoredVersion(kind, manifest), fresh).object;
}
