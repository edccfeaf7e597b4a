import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { type Condition, type ConditionStatus, keyOf, type KubeObject } from "../../api/kind.ts";
import type { ServedKind, StoredObject } from "../../embedded/kinds/served-kind.ts";
import type { ManifestSource } from "../../embedded/store/declaration.ts";
import type { Store } from "../../embedded/store/store.ts";
import { stripControlCharacters } from "../print/columns.ts";
import { same } from "../../embedded/kinds/json.ts";

export interface Row {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly conditions: readonly { readonly type: string; readonly status: ConditionStatus }[];
  /** The last transition of a condition, the last observed change, or the creation. */
  readonly since: string;
  /** A function, because lines move without a change of the object. */
  readonly source: () => ManifestSource | undefined;
}

export interface RowChange {
  readonly type: "added" | "changed" | "deleted";
  readonly row: Row;
  /** Without the status. */
  readonly fields: readonly FieldChange[];
  readonly conditionsTurned: boolean;
}

/** All objects of our kinds, and those of other kinds that are in files. */
export class ObjectTable {
  readonly #store: Store;
  readonly #rows = new Map<string, Row>();
  readonly #unsubscribe: () => void;
  /** Sorted rows, cached: they are drawn every second, and may be ten thousand. */
  #ordered: readonly Row[] | undefined;

  /** `onChange` gets changes of spec, labels, annotations and conditions, not every write. */
  constructor(store: Store, onChange: (change: RowChange) => void) {
    this.#store = store;
    for (const kind of store.kinds) {
      for (const { object } of store.collection(kind).list()) {
        if (this.#isVisible(kind, object)) this.#rows.set(idOf(kind, object), this.#row(kind, object));
      }
    }
    this.#unsubscribe = store.subscribe((kind, { type, entry, previous }) => {
      const change = this.#take(kind, entry.object, previous?.object, type === "DELETED");
      if (change) onChange(change);
    });
  }

  /** Sorted by kind, namespace and name. */
  rows(): readonly Row[] {
    return (this.#ordered ??= inOrder(this.#rows.values()));
  }

  close(): void {
    this.#unsubscribe();
  }

  #take(kind: ServedKind, object: StoredObject, previous: StoredObject | undefined, gone: boolean): RowChange | undefined {
    const id = idOf(kind, object);
    const before = this.#rows.get(id);
    this.#ordered = undefined;
    if (gone) {
      this.#rows.delete(id);
      return before && { type: "deleted", row: before, fields: [], conditionsTurned: false };
    }
    if (!before && !this.#isVisible(kind, object)) return undefined;
    const fields = previous ? changedFields(previous, object) : [];
    const row = this.#row(kind, object, fields.length > 0 ? new Date().toISOString() : before?.since);
    this.#rows.set(id, row);
    const conditionsTurned = conditionText(row) !== (before ? conditionText(before) : "");
    if (!before) return { type: "added", row, fields: [], conditionsTurned };
    return fields.length > 0 || conditionsTurned ? { type: "changed", row, fields, conditionsTurned } : undefined;
  }

  #row(kind: ServedKind, { metadata, ...content }: StoredObject, changed = ""): Row {
    const conditions = conditionsOf(content["status"]);
    const moments = [metadata.creationTimestamp ?? "", changed, ...conditions.map(({ lastTransitionTime = "" }) => lastTransitionTime)];
    return {
      kind: kind.kind,
      namespace: metadata.namespace ?? "",
      name: metadata.name,
      conditions: conditions.map(({ type, status }) => ({ type, status })),
      since: moments.sort().at(-1) ?? "",
      source: () => this.#store.declarationOf(kind, metadata)?.source,
    };
  }

  #isVisible(kind: ServedKind, { metadata }: StoredObject): boolean {
    return kind.custom !== undefined || this.#store.declarationOf(kind, metadata) !== undefined;
  }
}

function conditionsOf(status: unknown): (Pick<Condition, "type" | "status"> & Partial<Condition>)[] {
  return isObject(status) && Array.isArray(status["conditions"]) ? (status["conditions"] as Condition[]) : [];
}

/** `Ready=True Degraded=False` */
export function conditionText({ conditions }: Row): string {
  return conditions.map(({ type, status }) => stripControlCharacters(`${type}=${status}`)).join(" ");
}

function idOf(kind: ServedKind, object: StoredObject): string {
  return `${kind.group} ${kind.kind} ${keyOf(object)}`;
}

function inOrder(rows: Iterable<Row>): Row[] {
  const keyed = Array.from(rows, (row) => ({ row, key: `${row.kind} ${row.namespace} ${row.name}` }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ row }) => row);
}

export interface FieldChange {
  /** `spec.vni`, `metadata.labels.tenant` */
  readonly field: string;
  /** Undefined if the field is new. */
  readonly from: unknown;
  readonly to: unknown;
}

/** Labels, annotations and everything else but the status. */
export function changedFields(before: KubeObject, after: KubeObject): FieldChange[] {
  const secret = after.apiVersion === "v1" && after.kind === "Secret";
  return differences(written(before), written(after), "").map((change) =>
    secret || SENSITIVE.test(change.field) ? masked(change) : change,
  );
}

const SENSITIVE = /password|token/i;
const HIDDEN = "(hidden)";

function masked({ field, from, to }: FieldChange): FieldChange {
  return { field, from: from === undefined ? undefined : HIDDEN, to: to === undefined ? undefined : HIDDEN };
}

function written({ metadata: { labels = {}, annotations = {} }, ...object }: KubeObject & { status?: unknown }): JsonObject {
  return { ...object, status: undefined, metadata: { labels, annotations } };
}

/** Lists count as one value: an index does not identify an item. */
function differences(from: unknown, to: unknown, field: string): FieldChange[] {
  if (same(from, to)) return [];
  if (!isObject(from) || !isObject(to)) return [{ field, from, to }];
  const names = new Set([...Object.keys(from), ...Object.keys(to)]);
  return [...names].flatMap((name) => differences(from[name], to[name], field === "" ? name : `${field}.${name}`));
}
