import { randomBytes } from "node:crypto";
import type { Cause, ComponentHealth } from "../../explain/answer.ts";
import { type Rows, VIEW_NAMES, type ViewName } from "../api.ts";
import type { KindInNamespace } from "../rows/row-builder.ts";

type AnyRow = Rows[ViewName];

export interface StoredRow {
  readonly row: AnyRow;
  readonly text: string;
  readonly revision: number;
  readonly of: readonly KindInNamespace[];
  /** The whole cause, of which the row shows a part. */
  readonly cause?: Cause;
}

/** The JSON of a row for a viewer; undefined if he may not see it. */
export type RowFilter = (stored: StoredRow) => string | undefined;

interface Removed {
  readonly view: ViewName;
  readonly key: string;
  readonly revision: number;
  readonly last: StoredRow;
}

/** The number of removed rows that are remembered. */
const REMEMBERED = 4096;

/**
 * The rows of all views, each with the revision of its last change. No state is kept per reader: a reader at some revision gets the changes
 * since.
 */
export class RowStore {
  /** Distinguishes the revisions of different processes. */
  readonly epoch = randomBytes(6).toString("hex");
  readonly #views: Readonly<Record<ViewName, Map<string, StoredRow>>>;
  #removed: Removed[] = [];
  /** Removals up to this revision are forgotten. */
  #forgotten = 0;
  #revision = 0;
  #next = 1;

  constructor() {
    this.#views = Object.fromEntries(VIEW_NAMES.map((view) => [view, new Map()])) as unknown as Record<ViewName, Map<string, StoredRow>>;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Starts a new revision. */
  begin(): void {
    this.#next = this.#revision + 1;
  }

  set(view: ViewName, key: string, row: AnyRow | undefined, of: readonly KindInNamespace[], cause?: Cause): void {
    const rows = this.#views[view];
    const before = rows.get(key);
    if (!row) {
      if (!before) return;
      this.#revision = this.#next;
      rows.delete(key);
      this.#removed.push({ view, key, revision: this.#revision, last: before });
      if (this.#removed.length > 2 * REMEMBERED) this.#remove();
      return;
    }
    const text = JSON.stringify(row);
    if (before?.text === text && isSame(before.cause, cause)) return;
    this.#revision = this.#next;
    rows.set(key, { row, text, revision: this.#revision, of, ...(cause && { cause }) });
  }

  of(view: ViewName): Iterable<StoredRow> {
    return this.#views[view].values();
  }

  /** As a JSON list. */
  snapshot(view: ViewName, filter: RowFilter): string {
    const texts: string[] = [];
    for (const stored of this.#views[view].values()) {
      const text = filter(stored);
      if (text !== undefined) texts.push(text);
    }
    return `[${texts.join(",")}]`;
  }

  /** Whether all changes since a revision are still known. */
  knows(revision: number): boolean {
    return revision >= this.#forgotten && revision <= this.#revision;
  }

  /** As JSON; undefined without changes. */
  since(revision: number, view: ViewName, filter: RowFilter): string | undefined {
    const upsert: string[] = [];
    const remove: string[] = [];
    const rows = this.#views[view];
    for (const [key, stored] of rows) {
      if (stored.revision <= revision) continue;
      const text = filter(stored);
      if (text !== undefined) upsert.push(text);
      // Only the keys of causes reveal nothing, and only causes become visible or invisible for a viewer.
      else if (stored.row.type === "cause") remove.push(key);
    }
    for (const removed of this.#removed) {
      if (removed.revision <= revision || removed.view !== view || rows.has(removed.key)) continue;
      if (removed.last.row.type === "cause" || filter(removed.last) !== undefined) remove.push(removed.key);
    }
    if (upsert.length === 0 && remove.length === 0) return undefined;
    const parts = [
      ...(upsert.length > 0 ? [`"upsert":[${upsert.join(",")}]`] : []),
      ...(remove.length > 0 ? [`"remove":${JSON.stringify([...new Set(remove)])}`] : []),
    ];
    return `{${parts.join(",")}}`;
  }

  #remove(): void {
    const gone = this.#removed.slice(0, -REMEMBERED);
    this.#removed = this.#removed.slice(-REMEMBERED);
    this.#forgotten = gone.at(-1)?.revision ?? this.#forgotten;
  }
}

/** Compares all symptoms, which may be all that a viewer sees of it. There may be thousands. */
function isSame(one: Cause | undefined, other: Cause | undefined): boolean {
  const [some, others] = [one?.symptoms ?? [], other?.symptoms ?? []];
  const isAlike = ({ id, health, since }: ComponentHealth, nth: number) =>
    others[nth]?.id === id && others[nth].health === health && others[nth].since === since;
  return some === others || (some.length === others.length && some.every(isAlike));
}
