import type { JsonObject } from "../../api/admission/value.ts";
import type { KubeObject } from "../../api/kind.ts";
import { overrides } from "../store/apply-manifest.ts";
import type { ServedKind, StoredObject } from "../kinds/served-kind.ts";
import { desiredPart, followed, type Declaration, type ManifestSource } from "../store/declaration.ts";
import { same, without } from "../kinds/json.ts";
import type { StoreDeleteOptions, StoreResult, StoreKey, Store, UpdateOptions, StoreWriteOptions } from "../store/store.ts";

/** The files that hold what people create through the API. Throws an ApiFault when a file cannot be written. */
export interface AppliedFiles {
  /** Writes the file of an object, before the object itself is stored. */
  write(kind: ServedKind, manifest: KubeObject): ManifestSource;
  remove(source: ManifestSource): void;
}

/**
 * What people write through the API is kept in files as well; what programs write is not. A file that a person wrote is never
 * touched: a change of its object is told apart and holds until the file changes the same field.
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
    // Nothing may be written for an object that will be refused.
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

/** A person writes with kubectl or plumbline; everything else is a program. */
export type WriterKind = "person" | "program";

function withName(body: JsonObject, { metadata: { name, namespace } }: StoredObject): JsonObject {
  const metadata = without(body["metadata"] ?? {}, "generateName");
  return { ...body, metadata: { ...metadata, name, ...(namespace !== undefined && { namespace }) } };
}

/** What the file will say: the body as it was written, without what the server decides. */
function manifestOf(body: JsonObject, { apiVersion = "", kind = "", metadata: { name, namespace } }: StoredObject): KubeObject {
  const { metadata, ...content } = desiredPart(body, { status: false });
  const named = { name, ...(namespace !== undefined && { namespace }), ...(metadata as object) };
  return withoutNotes({ apiVersion, kind, metadata: named, ...content });
}

/** What kubectl notes down for itself. The object keeps it; in a file it would only be in the way. */
const NOTE = "kubectl.kubernetes.io/last-applied-configuration";

function withoutNotes(manifest: KubeObject): KubeObject {
  const { annotations } = manifest.metadata;
  if (!annotations) return manifest;
  const kept = without(annotations, NOTE);
  const metadata = { ...without(manifest.metadata, "annotations"), ...(Object.keys(kept).length > 0 && { annotations: kept }) };
  return { ...manifest, metadata: metadata as unknown as KubeObject["metadata"] };
}
