import type { Kind } from "../../api/kind.ts";
import type { Domain, ObjectReader } from "../../api/health.ts";
import type { ComponentHealth } from "../../explain/answer.ts";
import type { MatrixCellRow, Rows, ViewName } from "../api.ts";

/** What rows are painted from. What was looked at is remembered: when it changes, the row is painted again. */
export interface BuildContext extends ObjectReader {
  verdict(id: string): ComponentHealth | undefined;
  /** What a domain has on a node, or, without a node, anywhere. */
  cell(domain: Domain, node?: string): MatrixCellRow | undefined;
  /** The verdicts on things of a kind that are not well. */
  unwell(kind: Kind): readonly ComponentHealth[];
  /** For what must not be painted again with every change of what is seen through it. */
  readonly unremembered: ObjectReader;
}

/** Objects of a kind in one namespace, or in all: who may list these may see what was made of them. */
export interface KindInNamespace {
  readonly kind: Kind;
  readonly namespace?: string;
}

interface Builds<V extends ViewName> {
  readonly view: V;
  readonly type: Rows[V]["type"];
  /** The row; none where nothing is left of it. */
  readonly build: (name: string, context: BuildContext) => Rows[V] | undefined;
  /** What a viewer must be allowed to list. */
  readonly of: (name: string) => readonly KindInNamespace[];
}

/** What objects of a kind become in a view. Several of them may become one row. */
export interface RowBuilder<V extends ViewName = ViewName> extends Builds<V> {
  readonly kind: Kind;
  /** The name of the row that an object is part of; none where it is not shown. */
  readonly rowOf: (object: never) => string | undefined;
}

/** Rows that are there whatever objects there are. */
export interface FixedRowBuilder<V extends ViewName = ViewName> extends Builds<V> {
  readonly names: readonly string[];
}

export type AnyRowBuilder = { [V in ViewName]: RowBuilder<V> | FixedRowBuilder<V> }[ViewName];

/** The key of a row within its view. */
export function rowKey(type: string, name: string): string {
  return `${type}/${name}`;
}
