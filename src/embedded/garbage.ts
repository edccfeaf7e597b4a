import { setImmediate } from "node:timers/promises";
import type { JsonObject } from "../api/admission/value.ts";
import { keyOf, parseKey, type ObjectMeta, type OwnerReference, type KubeObject } from "../api/kind.ts";
import { backoffMs } from "../util/backoff.ts";
import { sleep } from "../util/sleep.ts";
import type { Log } from "../kube/log.ts";
import { embeddedCleanups } from "./store/metrics.ts";
import { ApiError, resourceName } from "./store/api-error.ts";
import type { FileWriteBack } from "./directory/write-back.ts";
import { isNamespace, type ServedKind, type StoredObject } from "./kinds/served-kind.ts";
import { FOREGROUND, ORPHAN } from "./store/deletion.ts";
import type { StoreEntry } from "./store/entry.ts";
import type { StoreChange } from "./store/history.ts";
import { textAt } from "./kinds/json.ts";
import type { StoreKey, Store } from "./store/store.ts";

/** Objects per slice, so that requests are served in between. */
const SLICE = 50;
const RETRY = { minMs: 500, maxMs: 30_000 };
const EXPIRY_MS = 60_000;

interface Suspect {
  readonly kind: ServedKind;
  readonly ref: StoreKey;
}

/**
 * Deletes dependents of deleted owners, the content of deleted namespaces, and expired events. It runs in the background, and from the
 * beginning after a restart.
 */
export class Garbage {
  readonly #store: Store;
  readonly #keeping: FileWriteBack;
  readonly #log: Log;
  readonly #dependents = new Dependents();
  readonly #suspects = new Map<string, Suspect>();
  #wake: () => void = () => undefined;

  constructor(store: Store, keeping: FileWriteBack, log: Log) {
    this.#store = store;
    this.#keeping = keeping;
    this.#log = log;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (const kind of this.#store.kinds) {
      for (const entry of this.#store.collection(kind).list()) this.#noticed(kind, { type: "ADDED", entry });
    }
    const unsubscribe = this.#store.subscribe((kind, change) => this.#noticed(kind, change));
    const expiry = setInterval(() => this.#suspectExpired(), EXPIRY_MS);
    const onAbort = (): void => this.#wake();
    signal.addEventListener("abort", onAbort);
    try {
      for (let failures = 0; !signal.aborted;) {
        if (this.#suspects.size === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
        failures = this.#workOff() ? 0 : failures + 1;
        if (failures > 0) await sleep(backoffMs(failures, RETRY), signal).catch(() => undefined);
        else await setImmediate();
      }
    } finally {
      unsubscribe();
      clearInterval(expiry);
      signal.removeEventListener("abort", onAbort);
    }
  }

  #noticed(kind: ServedKind, { type, entry, previous }: StoreChange): void {
    const { object } = entry;
    const { metadata } = object;
    const gone = type === "DELETED";
    this.#dependents.replace(idOf(kind, metadata), previous?.object, gone ? undefined : object);
    if (!gone && (metadata.ownerReferences || metadata.deletionTimestamp)) this.#suspect(kind, metadata);
    if (gone || metadata.finalizers?.includes(FOREGROUND)) for (const id of this.#dependents.of(metadata.uid ?? "")) this.#suspectById(id);
    if (!gone) return;
    for (const owner of metadata.ownerReferences ?? []) this.#suspectOwner(owner, metadata);
    const namespaces = this.#store.kindOf("v1", "Namespace");
    if (namespaces && metadata.namespace !== undefined) this.#suspect(namespaces, { name: metadata.namespace });
  }

  #suspectOwner({ apiVersion, kind: name, name: ownerName }: OwnerReference, { namespace }: ObjectMeta): void {
    const kind = this.#store.kindOf(apiVersion, name);
    if (kind) this.#suspect(kind, { name: ownerName, ...(kind.scope === "Namespaced" && namespace !== undefined && { namespace }) });
  }

  #suspect(kind: ServedKind, { name, namespace }: StoreKey): void {
    const ref = { name, ...(namespace !== undefined && { namespace }) };
    this.#suspects.set(idOf(kind, ref), { kind, ref });
    this.#wake();
  }

  #suspectById(id: string): void {
    const [resource = "", ...key] = id.split("|");
    const kind = this.#store.kinds.find((served) => resourceName(served) === resource);
    if (kind) this.#suspect(kind, parseKey(key.join("|")));
  }

  /** False if a write failed; the rest stays queued. */
  #workOff(): boolean {
    for (const [id, { kind, ref }] of [...this.#suspects].slice(0, SLICE)) {
      this.#suspects.delete(id);
      try {
        this.#cleanUp(kind, ref);
        embeddedCleanups.inc({ outcome: "done" });
      } catch (error) {
        const rejected = error instanceof ApiError && error.code < 500;
        embeddedCleanups.inc({ outcome: rejected ? "refused" : "failed" });
        if (rejected) {
          this.#log.warn({ kind: kind.kind, key: keyOf({ metadata: ref }), error }, "cannot clean up an object");
          continue;
        }
        this.#suspects.set(id, { kind, ref });
        this.#log.error({ kind: kind.kind, key: keyOf({ metadata: ref }), error }, "cleanup failed");
        return false;
      }
    }
    return true;
  }

  #cleanUp(kind: ServedKind, ref: StoreKey): void {
    const stored = this.#store.find(kind, ref);
    if (!stored) return;
    const { metadata } = stored.object;
    if (isExpired(kind, stored.object)) this.#remove(kind, stored);
    else if (metadata.deletionTimestamp && isNamespace(kind)) this.#empty(kind, stored);
    else if (metadata.deletionTimestamp) this.#finish(kind, stored);
    else if (metadata.ownerReferences && !this.#store.declarationOf(kind, ref)) this.#collect(kind, stored);
  }

  /** An object that is not being deleted: it is collected if its owners are gone. */
  #collect(kind: ServedKind, stored: StoreEntry): void {
    const { metadata } = stored.object;
    const { solid, dangling, waiting } = ownershipOf(this.#store, kind, metadata);
    if (solid.length > 0) {
      if (dangling.length + waiting.length > 0) this.#disown(kind, stored, new Set([...dangling, ...waiting].map(({ uid }) => uid)));
      return;
    }
    if (dangling.length + waiting.length === 0) return;
    const foreground = waiting.length > 0 && this.#dependents.of(metadata.uid ?? "").size > 0;
    this.#remove(kind, stored, foreground ? { propagationPolicy: "Foreground" } : {});
  }

  /** An object that is being deleted: its dependents are handled first. */
  #finish(kind: ServedKind, stored: StoreEntry): void {
    const { uid = "", finalizers = [] } = stored.object.metadata;
    const dependents = [...this.#dependents.of(uid)].map((id) => this.#byId(id)).filter((found) => found !== undefined);
    if (finalizers.includes(ORPHAN)) {
      for (const dependent of dependents) this.#disown(dependent.kind, dependent.entry, new Set([uid]));
      this.#release(kind, stored, ORPHAN);
    } else if (finalizers.includes(FOREGROUND)) {
      const blocks = ({ entry }: { entry: StoreEntry }) =>
        entry.object.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.blockOwnerDeletion);
      if (!dependents.some(blocks)) this.#release(kind, stored, FOREGROUND);
    }
  }

  #empty(namespaces: ServedKind, stored: StoreEntry): void {
    const { name, finalizers } = stored.object.metadata;
    let left = 0;
    let removed = 0;
    for (const kind of this.#store.kinds.filter(({ scope }) => scope === "Namespaced")) {
      for (const entry of this.#store.collection(kind).list(name)) {
        left += 1;
        if (entry.object.metadata.deletionTimestamp) continue;
        if (removed === SLICE) return this.#suspect(namespaces, { name });
        removed += 1;
        this.#remove(kind, entry);
      }
    }
    if (left === 0 && !finalizers?.length) this.#store.finishNamespace(namespaces, stored);
  }

  #remove(kind: ServedKind, stored: StoreEntry, options: { propagationPolicy?: "Foreground" } = {}): void {
    const { uid = "" } = stored.object.metadata;
    this.#keeping.delete(kind, stored.object.metadata, { uid, ...options });
  }

  #disown(kind: ServedKind, stored: StoreEntry, gone: ReadonlySet<string>): void {
    const keep = (stored.object.metadata.ownerReferences ?? []).filter(({ uid }) => !gone.has(uid));
    this.#store.update(kind, stored.object.metadata, rewritten({ ownerReferences: keep }));
  }

  #release(kind: ServedKind, stored: StoreEntry, finalizer: string): void {
    const keep = (stored.object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
    this.#store.update(kind, stored.object.metadata, rewritten({ finalizers: keep }));
  }

  #byId(id: string): { kind: ServedKind; entry: StoreEntry } | undefined {
    const [resource = "", ...key] = id.split("|");
    const kind = this.#store.kinds.find((served) => resourceName(served) === resource);
    const entry = kind && this.#store.collection(kind).get(key.join("|"));
    return kind && entry && { kind, entry };
  }

  #suspectExpired(): void {
    for (const kind of this.#store.kinds.filter(({ rules }) => rules.expiresAfterMs !== undefined)) {
      for (const { object } of this.#store.collection(kind).list()) if (isExpired(kind, object)) this.#suspect(kind, object.metadata);
    }
  }
}

const idOf = (kind: ServedKind, { name, namespace }: StoreKey) =>
  `${resourceName(kind)}|${keyOf({ metadata: { name, ...(namespace !== undefined && { namespace }) } })}`;

const rewritten =
  (change: Partial<ObjectMeta>) =>
  (stored: StoredObject | undefined): JsonObject => ({ ...stored, metadata: { ...stored?.metadata, ...change } });

function isExpired({ rules }: ServedKind, object: StoredObject): boolean {
  if (rules.expiresAfterMs === undefined) return false;
  const times = ["lastTimestamp", "eventTime"].map((name) => textAt(object, name));
  const last = [object.metadata.creationTimestamp ?? "", textAt(object, "series", "lastObservedTime"), ...times];
  return Math.max(...last.map((time) => Date.parse(time) || 0)) + rules.expiresAfterMs < Date.now();
}

interface Ownership {
  /** Owners that exist, or whose existence is unknown. */
  readonly solid: OwnerReference[];
  readonly dangling: OwnerReference[];
  /** Owners whose deletion waits for this object. */
  readonly waiting: OwnerReference[];
}

function ownershipOf(store: Store, kind: ServedKind, metadata: ObjectMeta): Ownership {
  const ownership: Ownership = { solid: [], dangling: [], waiting: [] };
  for (const reference of metadata.ownerReferences ?? []) ownership[stateOf(store, kind, metadata, reference)].push(reference);
  return ownership;
}

function stateOf(store: Store, dependent: ServedKind, { namespace }: ObjectMeta, reference: OwnerReference): keyof Ownership {
  const kind = store.kindOf(reference.apiVersion, reference.kind);
  if (!kind || (kind.scope === "Namespaced" && dependent.scope === "Cluster")) return "solid";
  const where = kind.scope === "Namespaced" && namespace !== undefined ? { namespace } : {};
  const owner = store.find(kind, { name: reference.name, ...where })?.object.metadata;
  if (owner?.uid !== reference.uid) return "dangling";
  return owner.deletionTimestamp && owner.finalizers?.includes(FOREGROUND) ? "waiting" : "solid";
}

class Dependents {
  readonly #byOwner = new Map<string, Set<string>>();

  of(uid: string): ReadonlySet<string> {
    return this.#byOwner.get(uid) ?? new Set();
  }

  replace(id: string, before: KubeObject | undefined, after: KubeObject | undefined): void {
    for (const { uid } of before?.metadata.ownerReferences ?? []) {
      const dependents = this.#byOwner.get(uid);
      dependents?.delete(id);
      if (dependents?.size === 0) this.#byOwner.delete(uid);
    }
    for (const { uid } of after?.metadata.ownerReferences ?? []) {
      const dependents = this.#byOwner.get(uid) ?? new Set();
      this.#byOwner.set(uid, dependents.add(id));
    }
  }
}
