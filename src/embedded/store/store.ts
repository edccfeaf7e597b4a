import { randomUUID } from "node:crypto";
import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { keyOf, type ObjectMeta } from "../../api/kind.ts";
import { metaTime } from "../../api/time.ts";
import { decodeForKind } from "./decoding.ts";
import { alreadyExists, forbidden, notFound, resourceName } from "./api-error.ts";
import { isNamespace, type ServedKind, type StoredObject } from "../kinds/served-kind.ts";
import { prepareCreate, prepareUpdate, withoutResourceVersion, type ObjectPart } from "./admission.ts";
import type { ChangeLog, ChangeLogEntry, Restored } from "./change-log.ts";
import { Collection } from "./collection.ts";
import { deletionFinalizers, isFinished, type PropagationPolicy } from "./deletion.ts";
import type { Declaration, ManifestSource } from "./declaration.ts";
import { StoreEntry } from "./entry.ts";
import type { StoreChange } from "./history.ts";
import { same, textAt } from "../kinds/json.ts";
import { finalizerWarnings } from "./metadata-rules.ts";
import { checkContentUndeclared, checkPreconditions, checkUid, checkUndeclared } from "./preconditions.ts";
import { generateName } from "../kinds/syntax.ts";

export interface StoreKey {
  readonly name: string;
  readonly namespace?: string;
}

export type FieldValidation = "Ignore" | "Warn" | "Strict";

export interface StoreWriteOptions {
  readonly dryRun?: boolean;
  readonly fieldValidation?: FieldValidation;
  /** The file of the object, or null if it is in no file any more. */
  readonly declaration?: Declaration | null;
}

export interface UpdateOptions extends StoreWriteOptions {
  readonly half?: ObjectPart;
  /** A patch requires an existing object; an update may create it. */
  readonly patch?: boolean;
}

export interface StoreDeleteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagationPolicy?: PropagationPolicy;
  readonly dryRun?: boolean;
  /** Allows the deletion of an object of a file: the file is gone. */
  readonly undeclared?: boolean;
}

export interface StoreResult {
  readonly entry: StoreEntry;
  readonly created: boolean;
  readonly warnings: readonly string[];
}

type Listener = (kind: ServedKind, change: StoreChange) => void;

const IMMORTAL = new Set(["default", "kube-system", "kube-public"]);

/**
 * All objects, with the semantics of an API server without HTTP. Every operation completes in one tick: it is on disk, in memory and sent
 * to the watchers, or it throws an ApiError and changes nothing.
 */
export class Store {
  readonly kinds: readonly ServedKind[];
  readonly #collections = new Map<string, Collection>();
  readonly #declarations = new Map<string, Declaration>();
  readonly #listeners = new Set<Listener>();
  readonly #onFault: (error: unknown) => void;
  readonly #ledger: ChangeLog | undefined;
  #revision: number;

  /** `onFault` gets the errors of listeners. */
  constructor(kinds: readonly ServedKind[], options: { ledger?: ChangeLog; restored?: Restored; onFault?: (error: unknown) => void } = {}) {
    const { ledger, restored = { revision: 0, objects: [] }, onFault = () => {} } = options;
    this.#onFault = onFault;
    this.kinds = kinds;
    this.#ledger = ledger;
    this.#revision = restored.revision;
    for (const kind of kinds) this.#collections.set(resourceName(kind), new Collection(kind, restored.revision));
    for (const { resource, object, declaration } of restored.objects) {
      const entry = new StoreEntry(object, Number(object.metadata.resourceVersion));
      this.#collections.get(resource)?.restore(entry);
      if (declaration) this.#declarations.set(`${resource}/${keyOf(object)}`, declaration);
    }
  }

  get revision(): number {
    return this.#revision;
  }

  kindOf(apiVersion: string, name: string): ServedKind | undefined {
    const [version = "", group = ""] = apiVersion.split("/").reverse();
    return this.kinds.find((kind) => kind.kind === name && kind.group === group && kind.versions.some((served) => served.name === version));
  }

  collection(kind: ServedKind): Collection {
    const collection = this.#collections.get(resourceName(kind));
    if (!collection) throw new Error(`${kind.kind} is not served`);
    return collection;
  }

  find(kind: ServedKind, ref: StoreKey): StoreEntry | undefined {
    return this.collection(kind).get(keyOf({ metadata: ref }));
  }

  get(kind: ServedKind, ref: StoreKey): StoreEntry {
    const entry = this.find(kind, ref);
    if (!entry) throw notFound(kind, ref.name);
    return entry;
  }

  declarationOf(kind: ServedKind, ref: StoreKey): Declaration | undefined {
    return this.#declarations.get(`${resourceName(kind)}/${keyOf({ metadata: ref })}`);
  }

  *declared(): Generator<{ kind: ServedKind; entry: StoreEntry; declaration: Declaration }> {
    for (const collection of this.#collections.values()) {
      for (const entry of collection.list()) {
        const declaration = this.declarationOf(collection.kind, entry.object.metadata);
        if (declaration) yield { kind: collection.kind, entry, declaration };
      }
    }
  }

  /** The whole state as journal entries. */
  snapshot(): ChangeLogEntry[] {
    return [...this.#collections].flatMap(([resource, collection]) =>
      collection.list().map((entry) => {
        const key = keyOf(entry.object);
        return { revision: entry.revision, resource, key, entry, declaration: this.#declarations.get(`${resource}/${key}`) };
      }),
    );
  }

  /** The manifest has another position. Not written to disk: every start reads the files anyway. */
  moved(kind: ServedKind, ref: StoreKey, source: ManifestSource): void {
    const declaration = this.declarationOf(kind, ref);
    if (declaration) this.#declarations.set(`${resourceName(kind)}/${keyOf({ metadata: ref })}`, { ...declaration, source });
  }

  /** Called in the tick of every change; must not throw and must not write. */
  subscribe(listener: (kind: ServedKind, change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  create(kind: ServedKind, namespace: string | undefined, body: JsonObject, options: StoreWriteOptions = {}): StoreResult {
    return decodeForKind(kind, body, options, (warn) => {
      if (kind.scope === "Namespaced") this.#checkNamespace(kind, namespace ?? "", body);
      const fresh = { namespace, uid: randomUUID(), now: metaTime(new Date()), generateName };
      const { object, unknownFields } = prepareCreate(kind, body, fresh);
      const warnings = [...warn(unknownFields), ...finalizerWarnings(object.metadata, undefined, kind)];
      const twin = this.find(kind, object.metadata);
      if (twin) throw alreadyExists(kind, object.metadata, twin.object.metadata.deletionTimestamp !== undefined).warning(warnings);
      if (options.dryRun) return { entry: new StoreEntry(object, this.#revision), created: true, warnings };
      return { entry: this.#commit(kind, "ADDED", object, undefined, options.declaration), created: true, warnings };
    });
  }

  update(
    kind: ServedKind,
    ref: StoreKey,
    make: (stored: StoredObject | undefined) => JsonObject,
    options: UpdateOptions = {},
  ): StoreResult {
    const stored = this.find(kind, ref);
    if (!stored && options.patch) throw notFound(kind, ref.name);
    const body = make(stored?.object);
    return decodeForKind(kind, body, options, (warn) => {
      if (!stored && !kind.rules.createOnUpdate) throw notFound(kind, ref.name);
      if (!options.patch) checkUid(kind, body, stored?.object.metadata ?? ref);
      if (!stored) return this.create(kind, ref.namespace, withoutResourceVersion(body), options);
      const { object, unknownFields } = prepareUpdate(kind, body, stored.object, options.half ?? "main");
      const recommended = options.half === "status" ? [] : finalizerWarnings(object.metadata, stored.object.metadata, kind);
      const warnings = [...warn(unknownFields), ...recommended];
      return { entry: this.#replace(kind, object, stored, options), created: false, warnings };
    });
  }

  #replace(kind: ServedKind, object: StoredObject, stored: StoreEntry, { dryRun, declaration }: UpdateOptions): StoreEntry {
    if (dryRun) return new StoreEntry(object, stored.revision);
    if (isFinished(kind, object.metadata)) {
      this.#commit(kind, "DELETED", object, stored, declaration);
      // The response has the written object, not the last watched one.
      return new StoreEntry(object, stored.revision);
    }
    if (!same(object, stored.object)) return this.#commit(kind, "MODIFIED", object, stored, declaration);
    if (declaration !== undefined) this.#declare(kind, stored, declaration);
    return stored;
  }

  /** Removes an object, or marks it while finalizers block it. */
  delete(kind: ServedKind, ref: StoreKey, options: StoreDeleteOptions = {}): { entry: StoreEntry; deleted: boolean } {
    const stored = this.get(kind, ref);
    checkPreconditions(kind, stored.object.metadata, options);
    if (!options.undeclared) checkUndeclared(this, kind, ref);
    if (isNamespace(kind)) return this.#deleteNamespace(kind, stored, options);

    const current = stored.object.metadata;
    const finalizers = deletionFinalizers(current.finalizers ?? [], kind.rules.orphansDependents, options.propagationPolicy);
    if (finalizers.length === 0) {
      if (options.dryRun) return { entry: stored, deleted: true };
      return { entry: this.#commit(kind, "DELETED", stored.object, stored, null), deleted: true };
    }
    const metadata: ObjectMeta = {
      ...current,
      ...(!current.deletionTimestamp && current.generation !== undefined && { generation: current.generation + 1 }),
      deletionTimestamp: current.deletionTimestamp ?? metaTime(new Date()),
      deletionGracePeriodSeconds: 0,
      finalizers,
    };
    return { entry: this.#mark({ ...stored.object, metadata }, kind, stored, options), deleted: false };
  }

  /** Removes an empty namespace. */
  finishNamespace(kind: ServedKind, stored: StoreEntry): void {
    this.#commit(kind, "DELETED", stored.object, stored, null);
  }

  #deleteNamespace(kind: ServedKind, stored: StoreEntry, options: StoreDeleteOptions): { entry: StoreEntry; deleted: boolean } {
    const { name, deletionTimestamp } = stored.object.metadata;
    if (IMMORTAL.has(name)) throw forbidden(kind, name, "this namespace may not be deleted");
    if (deletionTimestamp) return { entry: stored, deleted: false };
    if (!options.undeclared) checkContentUndeclared(this, kind, name);
    const metadata = { ...stored.object.metadata, deletionTimestamp: metaTime(new Date()) };
    const status = { ...(isObject(stored.object["status"]) ? stored.object["status"] : {}), phase: "Terminating" };
    return { entry: this.#mark({ ...stored.object, metadata, status }, kind, stored, options), deleted: false };
  }

  #mark(object: StoredObject, kind: ServedKind, stored: StoreEntry, { dryRun }: StoreDeleteOptions): StoreEntry {
    if (same(object, stored.object)) return stored;
    return dryRun ? new StoreEntry(object, stored.revision) : this.#commit(kind, "MODIFIED", object, stored, null);
  }

  /** Writes to disk and memory, then notifies. */
  #commit(
    kind: ServedKind,
    type: StoreChange["type"],
    object: StoredObject,
    previous: StoreEntry | undefined,
    declaration: Declaration | null | undefined,
  ): StoreEntry {
    const revision = this.#revision + 1;
    const collection = this.collection(kind);
    const metadata = { ...object.metadata, resourceVersion: String(revision) };
    const entry = new StoreEntry({ ...object, metadata }, revision);
    const key = keyOf(object);
    const resource = resourceName(kind);
    this.#ledger?.append({ revision, resource, key, entry: type === "DELETED" ? undefined : entry, declaration });
    this.#revision = revision;
    this.#remember(`${resource}/${key}`, declaration);
    const change: StoreChange = { type, entry, ...(previous && { previous }) };
    collection.apply(change);
    for (const listener of this.#listeners) this.#tell(listener, kind, change);
    return entry;
  }

  /** An error of a listener must not reach the writer: the change is committed. */
  #tell(listener: Listener, kind: ServedKind, change: StoreChange): void {
    try {
      listener(kind, change);
    } catch (error) {
      this.#onFault(error);
    }
  }

  /** Only the file of the object changed. */
  #declare(kind: ServedKind, entry: StoreEntry, declaration: Declaration | null): void {
    const resource = resourceName(kind);
    const key = keyOf(entry.object);
    this.#ledger?.append({ revision: entry.revision, resource, key, entry, declaration });
    this.#remember(`${resource}/${key}`, declaration);
  }

  #remember(id: string, declaration: Declaration | null | undefined): void {
    if (declaration) this.#declarations.set(id, declaration);
    else if (declaration === null) this.#declarations.delete(id);
  }

  #checkNamespace(kind: ServedKind, name: string, body: JsonObject): void {
    const namespaces = this.kindOf("v1", "Namespace");
    if (!namespaces) return;
    const namespace = this.get(namespaces, { name });
    if (!namespace.object.metadata.deletionTimestamp) return;
    const why = `unable to create new content in namespace ${name} because it is being terminated`;
    const cause = { reason: "NamespaceTerminating", message: `namespace ${name} is being terminated`, field: "metadata.namespace" };
    throw forbidden(kind, textAt(body, "metadata", "name"), why, { causes: [cause] });
  }
}
