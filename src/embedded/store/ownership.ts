import type { KubeObject, ObjectMeta, OwnerReference } from "../../api/kind.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import type { Store } from "./store.ts";
import { FOREGROUND } from "./deletion.ts";

export interface Ownership {
  /** Owners that exist, or whose existence is unknown. */
  readonly solid: OwnerReference[];
  readonly dangling: OwnerReference[];
  /** Owners whose deletion waits for this object. */
  readonly waiting: OwnerReference[];
}

export function ownershipOf(store: Store, kind: ServedKind, metadata: ObjectMeta): Ownership {
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

export class Dependents {
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
