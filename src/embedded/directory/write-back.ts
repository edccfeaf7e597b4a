import type { JsonObject } from "../../api/admission/value.ts";
import type { KubeObject } from "../../api/kind.ts";
import { overrides } from "../store/apply-manifest.ts";
import type { ServedKind, StoredObject } from "../kinds/served-kind.ts";
import { desiredPart, followed, type Declaration, type ManifestSource } from "../store/declaration.ts";
import { same, without } from "../kinds/json.ts";
import type { StoreDeleteOptions, StoreResult, StoreKey, Store, UpdateOptions, StoreWriteOptions } from "../store/store.ts";

/** The files of objects that people create through the API. Throws an ApiError if a file cannot be written. */
export interface AppliedFiles {
  write(kind: ServedKind, manifest: KubeObject): ManifestSource;
  remove(source: ManifestSource): void;
}

/**
 * Writes of people through the API are kept in files; writes of programs are not. A person's file is never changed: a change of its object
 * is an override, until the file changes the same field.
 */
export class FileWriteBack {
  readonly #store: Store;
  readonly #files: AppliedFiles | undefined;

  constructor(store: Store, files: AppliedFiles | undefined) {
    this.#store = store;
    this.#files = files;
  }

  create(kind: ServedKind, namespace: string | undefined, body: JsonObject, by: WriterKind, options: StoreWriteOptions): StoreResult {
    const store = this.#store;
    if (by !== "person" || !this.#files || options.dryRun) return store.create(kind, namespace, body, options);
    // A dry run first, so that no file is written for a rejected object.
    const { entry } = store.create(kind, namespace, body, { ...options, dryRun: true });
    const named = withName(body, entry.object);
    const manifest = manifestOf(named, entry.object);
    return store.create(kind, namespace, named, { ...options, declaration: { manifest, source: this.#files.write(kind, manifest) } });
  }

  update(
    kind: ServedKind,
    ref: StoreKey,
    make: (stored: StoredObject | undefined) => JsonObject,
    by: WriterKind,
    options: UpdateOptions,
  ): StoreResult {
    const store = this.#store;
    const declaration = store.declarationOf(kind, ref);
    if (!declaration || options.half === "status" || options.dryRun) return store.update(kind, ref, make, options);
    if (!declaration.source.applied) return this.#updateBesideFile(kind, ref, make, declaration, options);
    if (by !== "person" || !this.#files) return store.update(kind, ref, make, options);

    const before = store.get(kind, ref).object;
    const after = store.update(kind, ref, make, { ...options, dryRun: true }).entry.object;
    const manifest = withoutNotes(followed(declaration.manifest, before, after));
    if (same(manifest, declaration.manifest)) return store.update(kind, ref, make, options);
    return store.update(kind, ref, make, { ...options, declaration: { manifest, source: this.#files.write(kind, manifest) } });
  }

  delete(kind: ServedKind, ref: StoreKey, options: StoreDeleteOptions): ReturnType<Store["delete"]> {
    const declaration = this.#store.declarationOf(kind, ref);
    if (!declaration?.source.applied || options.dryRun) return this.#store.delete(kind, ref, options);
    this.#store.delete(kind, ref, { ...options, dryRun: true });
    this.#files?.remove(declaration.source);
    return this.#store.delete(kind, ref, { ...options, undeclared: true });
  }

  #updateBesideFile(
    kind: ServedKind,
    ref: StoreKey,
    make: (stored: StoredObject | undefined) => JsonObject,
    { source }: Declaration,
    options: UpdateOptions,
  ): StoreResult {
    const before = this.#store.get(kind, ref).revision;
    const outcome = this.#store.update(kind, ref, make, options);
    if (outcome.entry.revision === before || overrides(this.#store, kind, ref).length === 0) return outcome;
    const where = `${kind.kind} ${ref.name} is in ${source.path}:${source.line}`;
    const warning = `${where}; this change lasts until the file changes the same field, or until plumbline apply --reset`;
    return { ...outcome, warnings: [...outcome.warnings, warning] };
  }
}

/** kubectl and plumbline count as a person; everything else is a program. */
export type WriterKind = "person" | "program";

function withName(body: JsonObject, { metadata: { name, namespace } }: StoredObject): JsonObject {
  const metadata = without(body["metadata"] ?? {}, "generateName");
  return { ...body, metadata: { ...metadata, name, ...(namespace !== undefined && { namespace }) } };
}

/** The request's body, without the fields of the server. */
function manifestOf(body: JsonObject, { apiVersion = "", kind = "", metadata: { name, namespace } }: StoredObject): KubeObject {
  const { metadata, ...content } = desiredPart(body, { status: false });
  const named = { name, ...(namespace !== undefined && { namespace }), ...(metadata as object) };
  return withoutNotes({ apiVersion, kind, metadata: named, ...content });
}

/** The object keeps kubectl's own annotation; the file does not need it. */
const NOTE = "kubectl.kubernetes.io/last-applied-configuration";

function withoutNotes(manifest: KubeObject): KubeObject {
  const { annotations } = manifest.metadata;
  if (!annotations) return manifest;
  const kept = without(annotations, NOTE);
  const metadata = { ...without(manifest.metadata, "annotations"), ...(Object.keys(kept).length > 0 && { annotations: kept }) };
  return { ...manifest, metadata: metadata as unknown as KubeObject["metadata"] };
}
