import { apiVersionOf, keyOf, parseKey, type KubeObject } from "../../api/kind.ts";
import { applyManifest, removeManifest } from "../store/apply-manifest.ts";
import { ApiError, resourceName } from "../store/api-error.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import type { ManifestSource } from "../store/declaration.ts";
import type { StoreKey, Store } from "../store/store.ts";
import type { KnownObject, ManifestError, ObjectIdentity, ManifestTarget } from "./target.ts";

export class StoreTarget implements ManifestTarget {
  readonly #store: Store;
  readonly #kinds: ReadonlyMap<string, ServedKind>;

  constructor(store: Store) {
    this.#store = store;
    this.#kinds = new Map(store.kinds.map((kind) => [resourceName(kind), kind]));
  }

  /** The objects that came from files when the process ended. */
  *known(): Generator<KnownObject> {
    for (const { kind, entry, declaration } of this.#store.declared()) {
      yield { key: keyFor(kind, entry.object.metadata), object: declaration.manifest, source: declaration.source };
    }
  }

  /** Called for every object that is removed from the store. */
  onDeleted(listener: (key: string) => void): () => void {
    return this.#store.subscribe((kind, { type, entry }) => {
      if (type === "DELETED") listener(keyFor(kind, entry.object.metadata));
    });
  }

  identify(object: KubeObject): ObjectIdentity | ManifestError {
    const { apiVersion = "", kind: name = "", metadata } = object;
    const kind = this.#store.kindOf(apiVersion, name);
    if (!kind) return { field: "kind", level: "error", message: this.#noSuchKind(apiVersion, name) };
    const ref = kind.scope === "Cluster" ? { name: metadata.name } : { name: metadata.name, namespace: metadata.namespace || "default" };
    return { key: keyFor(kind, ref), name: `${kind.kind} ${keyOf({ metadata: ref })}` };
  }

  apply(object: KubeObject, source: ManifestSource): readonly ManifestError[] {
    try {
      const { warnings } = applyManifest(this.#store, asWritten(object), source);
      return warnings.map(warning);
    } catch (error) {
      if (!(error instanceof ApiError) || isPassing(error)) throw error;
      return problemsOf(error);
    }
  }

  moved(key: string, source: ManifestSource): void {
    const { kind, ref } = this.#find(key);
    this.#store.moved(kind, ref, source);
  }

  remove(key: string): void {
    const { kind, ref } = this.#find(key);
    removeManifest(this.#store, kind, ref);
  }

  #find(key: string): { kind: ServedKind; ref: StoreKey } {
    const slash = key.indexOf("/");
    const kind = this.#kinds.get(key.slice(0, slash));
    if (!kind) throw new Error(`${key}: kind is not served`);
    return { kind, ref: parseKey(key.slice(slash + 1)) };
  }

  #noSuchKind(apiVersion: string, name: string): string {
    const close = this.#store.kinds.find(({ kind }) => kind.toLowerCase() === name.toLowerCase());
    const hint = close ? `; did you mean ${close.kind} in ${apiVersionOf(close)}` : "";
    return `no matches for kind "${name}" in version "${apiVersion}"${hint}`;
  }
}

/** The output of `kubectl get -o yaml` is a valid manifest, but these fields are the server's. */
function asWritten(object: KubeObject): KubeObject {
  const { uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, managedFields, ...metadata } = object.metadata;
  const isExported = [uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, managedFields].some(
    (field) => field !== undefined,
  );
  return isExported ? { ...object, metadata } : object;
}

function keyFor(kind: ServedKind, ref: StoreKey): string {
  return `${resourceName(kind)}/${keyOf({ metadata: ref })}`;
}

/** Temporary: the disk is full, or the namespace is being deleted. */
function isPassing({ code, details }: ApiError): boolean {
  return code >= 500 || code === 409 || details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;
}

function problemsOf({ details, message }: ApiError): ManifestError[] {
  const causes = (details?.causes ?? []).filter(({ field }) => field !== undefined && field !== "<nil>");
  if (causes.length === 0) return [{ level: "error", message }];
  return causes.map(({ field = "", message = "" }) => ({ field, level: "error", message: `${field}: ${message}` }));
}

function warning(message: string): ManifestError {
  const field = /^unknown field "(.*)"$/.exec(message)?.[1] ?? "";
  return { field, level: "warning", message };
}
