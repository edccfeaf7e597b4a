import { keyOf, parseKey, type KubeObject } from "../api/kind.ts";
import { applyManifest, removeManifest } from "./declare.ts";
import { ApiFault, resourceName } from "./fault.ts";
import type { KnownObject } from "./files/directory.ts";
import type { Complaint, Identity, ManifestSink } from "./files/sink.ts";
import type { ServedKind } from "./kinds/served-kind.ts";
import type { Source } from "./objects/declaration.ts";
import type { Ref, Store } from "./store.ts";

/** The store as whoever reads files sees it. */
export class StoreSink implements ManifestSink {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** What files said when the process ran last. */
  *known(): Generator<KnownObject> {
    for (const { kind, entry, declaration } of this.#store.declared()) {
      yield { key: idOf(kind, entry.object.metadata), object: declaration.manifest, source: declaration.source };
    }
  }

  identify(object: KubeObject): Identity | Complaint {
    const { apiVersion = "", kind: name = "", metadata } = object;
    const kind = this.#store.kindOf(apiVersion, name);
    if (!kind) return { field: "kind", level: "error", message: `no matches for kind "${name}" in version "${apiVersion}"` };
    if (!metadata?.name) return { field: "metadata.name", level: "error", message: "metadata.name: Required value: name is required" };
    const ref = { name: metadata.name, ...(kind.scope === "Namespaced" && { namespace: metadata.namespace || "default" }) };
    return { key: idOf(kind, ref), name: `${kind.kind} ${keyOf({ metadata: ref })}` };
  }

  apply(object: KubeObject, source: Source): readonly Complaint[] {
    try {
      return applyManifest(this.#store, object, source).warnings.map(warning);
    } catch (error) {
      // A full disk, or a namespace that is just being deleted, is not the file's fault.
      if (!(error instanceof ApiFault) || (error.code !== 400 && error.code !== 422)) throw error;
      return complaints(error);
    }
  }

  moved(key: string, source: Source): void {
    const { kind, ref } = this.#find(key);
    this.#store.moved(kind, ref, source);
  }

  remove(key: string): void {
    const { kind, ref } = this.#find(key);
    removeManifest(this.#store, kind, ref);
  }

  #find(key: string): { kind: ServedKind; ref: Ref } {
    const slash = key.indexOf("/");
    const kind = this.#store.kinds.find((served) => resourceName(served) === key.slice(0, slash));
    if (!kind) throw new Error(`${key} names no kind that is served`);
    return { kind, ref: parseKey(key.slice(slash + 1)) };
  }
}

function idOf(kind: ServedKind, { name, namespace }: Ref): string {
  return `${resourceName(kind)}/${keyOf({ metadata: { name, ...(namespace !== undefined && { namespace }) } })}`;
}

/** Each field that is wrong, for itself. */
function complaints({ message, details }: ApiFault): Complaint[] {
  const causes = details?.causes ?? [];
  if (causes.length === 0) return [{ level: "error", message }];
  return causes.map(({ field, message: why = "" }) =>
    field === undefined || field === "<nil>" ? { level: "error", message: why } : { field, level: "error", message: `${field}: ${why}` },
  );
}

function warning(message: string): Complaint {
  const [, field] = /^unknown field "(.*)"$/.exec(message) ?? [];
  return { ...(field !== undefined && { field }), level: "warning", message };
}
