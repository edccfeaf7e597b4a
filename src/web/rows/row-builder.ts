import type { Kind } from "../../api/kind.ts";
import type { Component, Domain, ObjectReader } from "../../api/health.ts";
import type { ComponentHealth } from "../../explain/answer.ts";
import type { MatrixCellRow, Rows, ViewName } from "../api.ts";

/** The input of row builders. Reads are recorded: when an object changes, the row is built again. */
export interface BuildContext extends ObjectReader {
  verdict(id: string): ComponentHealth | undefined;
  /** A domain on a node, or in the whole cluster. */
  cell(domain: Domain, node?: string): MatrixCellRow | undefined;
  unwell(kind: Kind): readonly ComponentHealth[];
  /** Reads without being recorded. */
  readonly unremembered: ObjectReader;
}

/** The permission to list a kind in one namespace, or in all. */
export interface KindInNamespace {
  readonly kind: Kind;
  readonly namespace?: string;
}

/** What one must be allowed to list to see a component. */
export type RefsOf = (component: Component) => readonly KindInNamespace[];

interface Builds<V extends ViewName> {
  readonly view: V;
  readonly type: Rows[V]["type"];
  /** Undefined if the row is gone. */
  readonly build: (name: string, context: BuildContext) => Rows[V] | undefined;
  /** The permissions that the row requires. */
  readonly of: (name: string) => readonly KindInNamespace[];
}

/** Builds the rows of a kind in a view. Several objects may form one row. */
export interface RowBuilder<V extends ViewName = ViewName> extends Builds<V> {
  readonly kind: Kind;
  /** The name of the object's row; undefined if it has none. */
  readonly rowOf: (object: never) => string | undefined;
}

/** Rows that always exist. */
export interface FixedRowBuilder<V extends ViewName = ViewName> extends Builds<V> {
  readonly names: readonly string[];
}

export type AnyRowBuilder = { [V in ViewName]: RowBuilder<V> | FixedRowBuilder<V> }[ViewName];

export function rowKey(type: string, name: string): string {
  return `${type}/${name}`;
}
