import { isObject } from "../../api/admission/value.ts";
import { type Condition, type ConditionStatus, keyOf } from "../../api/kind.ts";
import type { ServedKind, StoredObject } from "../../embedded/kinds/served-kind.ts";
import type { Store } from "../../embedded/store.ts";

/** One object, as whoever watches `up` sees it. */
export interface Row {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly conditions: readonly { readonly type: string; readonly status: ConditionStatus }[];
  /** Since when it is as it is: the last turn of a condition, or its creation. */
  readonly since: string;
  readonly generation: number;
}

export interface RowChange {
  readonly type: "added" | "changed" | "deleted";
  readonly row: Row;
  readonly before?: Row;
}

/** The objects that a user cares for, kept up to date: all of our own kinds, and of others what stands in files. */
export class Board {
  readonly #store: Store;
  readonly #rows = new Map<string, Row>();
  readonly #unsubscribe: () => void;

  /** `onChange` is told of what a user would call a change: not of every write. */
  constructor(store: Store, onChange: (change: RowChange) => void) {
    this.#store = store;
    for (const kind of store.kinds) {
      for (const { object } of store.collection(kind).list())
        if (this.#isShown(kind, object)) this.#rows.set(idOf(kind, object), rowOf(object));
    }
    this.#unsubscribe = store.subscribe((kind, { type, entry }) => {
      const change = this.#take(kind, entry.object, type === "DELETED");
      if (change) onChange(change);
    });
  }

  /** By kind, namespace and name. */
  rows(): Row[] {
    return [...this.#rows.values()].sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
  }

  close(): void {
    this.#unsubscribe();
  }

  #take(kind: ServedKind, object: StoredObject, gone: boolean): RowChange | undefined {
    const id = idOf(kind, object);
    const before = this.#rows.get(id);
    if (gone) {
      this.#rows.delete(id);
      return before && { type: "deleted", row: before, before };
    }
    if (!before && !this.#isShown(kind, object)) return undefined;
    const row = rowOf(object);
    this.#rows.set(id, row);
    if (!before) return { type: "added", row };
    return differs(before, row) ? { type: "changed", row, before } : undefined;
  }

  #isShown(kind: ServedKind, { metadata }: StoredObject): boolean {
    return kind.custom !== undefined || this.#store.declarationOf(kind, metadata) !== undefined;
  }
}

function rowOf({ kind = "", metadata, ...content }: StoredObject): Row {
  const conditions = conditionsOf(content["status"]);
  const turns = conditions.flatMap(({ lastTransitionTime }) => lastTransitionTime ?? []);
  return {
    kind,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    conditions: conditions.map(({ type, status }) => ({ type, status })),
    since: turns.sort().at(-1) ?? metadata.creationTimestamp ?? "",
    generation: metadata.generation ?? 0,
  };
}

function conditionsOf(status: unknown): (Pick<Condition, "type" | "status"> & Partial<Condition>)[] {
  return isObject(status) && Array.isArray(status["conditions"]) ? (status["conditions"] as Condition[]) : [];
}

function differs(a: Row, b: Row): boolean {
  return a.generation !== b.generation || conditionText(a) !== conditionText(b);
}

/** `Ready=True Degraded=False` */
export function conditionText({ conditions }: Row): string {
  return conditions.map(({ type, status }) => `${type}=${status}`).join(" ");
}

function idOf(kind: ServedKind, object: StoredObject): string {
  return `${kind.group} ${kind.kind} ${keyOf(object)}`;
}

function sortKey({ kind, namespace, name }: Row): string {
  return `${kind} ${namespace} ${name}`;
}
