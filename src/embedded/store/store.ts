import { randomUUID } from "node:crypto";
import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { keyOf, type ObjectMeta } from "../../api/kind.ts";
import { metaTime } from "../../api/time.ts";
import { decoded } from "../decoding.ts";
import { alreadyExists, forbidden, notFound, resourceName } from "../api-error.ts";
import type { ServedKind, StoredObject } from "../kinds/served-kind.ts";
import { checkReadable, prepareCreate, prepareUpdate, type Half } from "./admission.ts";
import { Collection } from "./collection.ts";
import { deletionFinalizers, type PropagationPolicy } from "./deletion.ts";
import type { Declaration, Source } from "./declaration.ts";
import { Entry } from "./entry.ts";
import type { Change } from "./history.ts";
import { same, textAt, without } from "./json.ts";
import { finalizerWarnings } from "./metadata-rules.ts";
import { checkPreconditions, checkUid } from "./preconditions.ts";
import { generateName } from "./syntax.ts";
import { checkContentUndeclared, checkUndeclared } from "./protection.ts";

export interface Ref {
  readonly name: string;
  readonly namespace?: string;
}

/** One change, for the disk. */
export interface LedgerEntry {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  /** Undefined when the object is gone. */
  readonly entry: Entry | undefined;
  /** Null when the object's file is gone; undefined when nothing changed about it. */
  readonly declaration: Declaration | null | undefined;
}

/** Where changes are written before they count. Throws an ApiFault when they cannot be. */
export interface Ledger {
  append(change: LedgerEntry): void;
}

/** What was there when the process last ended. */
export interface Restored {
  readonly revision: number;
  readonly objects: Iterable<{ resource: string; object: StoredObject; declaration?: Declaration }>;
}

export type FieldValidation = "Ignore" | "Warn" | "Strict";

export interface WriteOptions {
  readonly dryRun?: boolean;
  /** What becomes of fields that the kind does not have. */
  readonly fieldValidation?: FieldValidation;
  /** Given with the object: the file that it now stands in, or null when it no longer stands in one. */
  readonly declaration?: Declaration | null;
}

export interface UpdateOptions extends WriteOptions {
  readonly half?: Half;
  /** A patch finds the object it changes; anything else brings it whole, and may create it. */
  readonly patch?: boolean;
}

export interface DeleteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagationPolicy?: PropagationPolicy;
  readonly dryRun?: boolean;
  /** Also what stands in a file: the file is gone. */
  readonly undeclared?: boolean;
}

export interface Outcome {
  readonly entry: Entry;
  readonly created: boolean;
  readonly warnings: readonly string[];
}

type Listener = (kind: ServedKind, change: Change) => void;

const IMMORTAL = new Set(["default", "kube-system", "kube-public"]);

/**
 * All objects and everything an API server does with them, HTTP aside. Every operation happens in one tick: it is on disk, in memory
 * and told to the watchers, or it throws an ApiFault and nothing has happened.
 */
export class Store {
  readonly kinds: readonly ServedKind[];
  readonly #collections = new Map<string, Collection>();
  readonly #declarations = new Map<string, Declaration>();
  readonly #listeners = new Set<Listener>();
  readonly #onFault: (error: unknown) => void;
  readonly #ledger: Ledger | undefined;
  #revision: number;

  /** `onFault` is told what a listener throws. */
  constructor(kinds: readonly ServedKind[], options: { ledger?: Ledger; restored?: Restored; onFault?: (error: unknown) => void } = {}) {
    const { ledger, restored = { revision: 0, objects: [] }, onFault = () => {} } = options;
    this.#onFault = onFault;
    this.kinds = kinds;
    this.#ledger = ledger;
    this.#revision = restored.revision;
    for (const kind of kinds) this.#collections.set(resourceName(kind), new Collection(kind, restored.revision));
    for (const { resource, object, declaration } of restored.objects) {
      const entry = new Entry(object, Number(object.metadata.resourceVersion));
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

  find(kind: ServedKind, ref: Ref): Entry | undefined {
    return this.collection(kind).get(keyOf({ metadata: ref }));
  }

  get(kind: ServedKind, ref: Ref): Entry {
    const entry = this.find(kind, ref);
    if (!entry) throw notFound(kind, ref.name);
    return entry;
  }

  /** What the object's file says, where it stands in one. */
  declarationOf(kind: ServedKind, ref: Ref): Declaration | undefined {
    return this.#declarations.get(`${resourceName(kind)}/${keyOf({ metadata: ref })}`);
  }

  /** Every object that stands in a file. */
  *declared(): Generator<{ kind: ServedKind; entry: Entry; declaration: Declaration }> {
    for (const collection of this.#collections.values()) {
      for (const entry of collection.list()) {
        const declaration = this.declarationOf(collection.kind, entry.object.metadata);
        if (declaration) yield { kind: collection.kind, entry, declaration };
      }
    }
  }

  /** Everything there is, as the ledger would have it. */
  snapshot(): LedgerEntry[] {
    return [...this.#collections].flatMap(([resource, collection]) =>
      collection.list().map((entry) => {
        const key = keyOf(entry.object);
        return { revision: entry.revision, resource, key, entry, declaration: this.#declarations.get(`${resource}/${key}`) };
      }),
    );
  }

  /** The manifest stands elsewhere now. Not worth the disk: every start reads the files anyway. */
  moved(kind: ServedKind, ref: Ref, source: Source): void {
    const declaration = this.declarationOf(kind, ref);
    if (declaration) this.#declarations.set(`${resourceName(kind)}/${keyOf({ metadata: ref })}`, { ...declaration, source });
  }

  /** Told of every change in its tick; must not throw and must not write. */
  subscribe(listener: (kind: ServedKind, change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  create(kind: ServedKind, namespace: string | undefined, body: JsonObject, options: WriteOptions = {}): Outcome {
    return decoded(kind, body, options, (warn) => {
      if (kind.scope === "Namespaced") this.#checkNamespace(kind, namespace ?? "", body);
      const fresh = { namespace, uid: randomUUID(), now: metaTime(new Date()), generateName };
      const { object, unknownFields } = prepareCreate(kind, body, fresh);
      const warnings = [...warn(unknownFields), ...finalizerWarnings(object.metadata, undefined, kind)];
      const twin = this.find(kind, object.metadata);
      if (twin) throw alreadyExists(kind, object.metadata, twin.object.metadata.deletionTimestamp !== undefined).warning(warnings);
      if (options.dryRun) return { entry: new Entry(object, this.#revision), created: true, warnings };
      return { entry: this.#commit(kind, "ADDED", object, undefined, options.declaration), created: true, warnings };
    });
  }

  /** Replaces an object by what `make` makes of it. */
  update(kind: ServedKind, ref: Ref, make: (held: StoredObject | undefined) => JsonObject, options: UpdateOptions = {}): Outcome {
    const held = this.find(kind, ref);
    if (!held && options.patch) throw notFound(kind, ref.name);
    const body = make(held?.object);
    return decoded(kind, body, options, (warn) => {
      if (!held && !kind.rules.createOnUpdate) throw notFound(kind, ref.name);
      if (!options.patch) checkUid(kind, body, held?.object.metadata ?? ref);
      if (!held) return this.create(kind, ref.namespace, withoutResourceVersion(body), options);
      const { object, unknownFields } = prepareUpdate(kind, body, held.object, options.half ?? "main");
      const recommended = options.half === "status" ? [] : finalizerWarnings(object.metadata, held.object.metadata, kind);
      const warnings = [...warn(unknownFields), ...recommended];
      return { entry: this.#replace(kind, object, held, options), created: false, warnings };
    });
  }

  #replace(kind: ServedKind, object: StoredObject, held: Entry, { dryRun, declaration }: UpdateOptions): Entry {
    if (dryRun) return new Entry(object, held.revision);
    if (isFinished(kind, object.metadata)) {
      this.#commit(kind, "DELETED", object, held, declaration);
      // The answer is the object as it was written, not as it was last seen by the watchers.
      return new Entry(object, held.revision);
    }
    if (!same(object, held.object)) return this.#commit(kind, "MODIFIED", object, held, declaration);
    if (declaration !== undefined) this.#declare(kind, held, declaration);
    return held;
  }

  /** Removes an object, or marks it for removal while finalizers hold it. */
  delete(kind: ServedKind, ref: Ref, options: DeleteOptions = {}): { entry: Entry; deleted: boolean } {
    const held = this.get(kind, ref);
    checkPreconditions(kind, held.object.metadata, options);
    if (!options.undeclared) checkUndeclared(this, kind, ref);
    if (isNamespace(kind)) return this.#deleteNamespace(kind, held, options);

    const current = held.object.metadata;
    const finalizers = deletionFinalizers(current.finalizers ?? [], kind.rules.orphansDependents, options.propagationPolicy);
    if (finalizers.length === 0) {
      if (options.dryRun) return { entry: held, deleted: true };
      return { entry: this.#commit(kind, "DELETED", held.object, held, null), deleted: true };
    }
    const metadata: ObjectMeta = {
      ...current,
      ...(!current.deletionTimestamp && current.generation !== undefined && { generation: current.generation + 1 }),
      deletionTimestamp: current.deletionTimestamp ?? metaTime(new Date()),
      deletionGracePeriodSeconds: 0,
      finalizers,
    };
    return { entry: this.#mark({ ...held.object, metadata }, kind, held, options), deleted: false };
  }

  /** Removes a namespace that has nothing in it any more. */
  finishNamespace(kind: ServedKind, held: Entry): void {
    this.#commit(kind, "DELETED", held.object, held, null);
  }

  #deleteNamespace(kind: ServedKind, held: Entry, options: DeleteOptions): { entry: Entry; deleted: boolean } {
    const { name, deletionTimestamp } = held.object.metadata;
    if (IMMORTAL.has(name)) throw forbidden(kind, name, "this namespace may not be deleted");
    if (deletionTimestamp) return { entry: held, deleted: false };
    if (!options.undeclared) checkContentUndeclared(this, kind, name);
    const metadata = { ...held.object.metadata, deletionTimestamp: metaTime(new Date()) };
    const status = { ...(isObject(held.object["status"]) ? held.object["status"] : {}), phase: "Terminating" };
    return { entry: this.#mark({ ...held.object, metadata, status }, kind, held, options), deleted: false };
  }

  #mark(object: StoredObject, kind: ServedKind, held: Entry, { dryRun }: DeleteOptions): Entry {
    if (same(object, held.object)) return held;
    return dryRun ? new Entry(object, held.revision) : this.#commit(kind, "MODIFIED", object, held, null);
  }

  /** On disk, in memory, told. */
  #commit(
    kind: ServedKind,
    type: Change["type"],
    object: StoredObject,
    previous: Entry | undefined,
    declaration: Declaration | null | undefined,
  ): Entry {
    const revision = this.#revision + 1;
    const collection = this.collection(kind);
    const metadata = { ...object.metadata, resourceVersion: String(revision) };
    const entry = new Entry({ ...object, metadata }, revision);
    const key = keyOf(object);
    const resource = resourceName(kind);
    this.#ledger?.append({ revision, resource, key, entry: type === "DELETED" ? undefined : entry, declaration });
    this.#revision = revision;
    this.#remember(`${resource}/${key}`, declaration);
    const change: Change = { type, entry, ...(previous && { previous }) };
    collection.apply(change);
    for (const listener of this.#listeners) this.#tell(listener, kind, change);
    return entry;
  }

  /** The change is made: whoever made it must not hear of a listener's trouble. */
  #tell(listener: Listener, kind: ServedKind, change: Change): void {
    try {
      listener(kind, change);
    } catch (error) {
      this.#onFault(error);
    }
  }

  /** The file of an object changed, and the object did not. */
  #declare(kind: ServedKind, entry: Entry, declaration: Declaration | null): void {
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

export function isNamespace({ group, kind }: ServedKind): boolean {
  return group === "" && kind === "Namespace";
}

/** Whoever creates an object by writing it whole may have seen an earlier one. */
function withoutResourceVersion(body: JsonObject): JsonObject {
  checkReadable(textAt(body, "metadata", "resourceVersion"));
  return { ...body, metadata: without(body["metadata"] ?? {}, "resourceVersion") };
}

/** Nothing holds it any more. A namespace is held by what is in it. */
function isFinished(kind: ServedKind, { deletionTimestamp, finalizers }: ObjectMeta): boolean {
  return deletionTimestamp !== undefined && !finalizers?.length && !isNamespace(kind);
}
