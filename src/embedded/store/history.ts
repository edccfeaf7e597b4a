import type { StoreEntry } from "./entry.ts";

export interface StoreChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** For a deletion, the last version with the revision of the deletion. */
  readonly entry: StoreEntry;
  readonly previous?: StoreEntry;
}

/** The memory of a few thousand changes. */
const BOUNDS = { changes: 4096, bytes: 16 * 1024 * 1024 };

/** The last changes of a collection, so that a watch can resume. */
export class ChangeHistory {
  readonly #bounds: { changes: number; bytes: number };
  #changes: StoreChange[] = [];
  #dropped = 0;
  #bytes = 0;
  /** All changes after this revision are present. */
  #horizon: number;

  constructor(revision: number, bounds = BOUNDS) {
    this.#horizon = revision;
    this.#bounds = bounds;
  }

  get horizon(): number {
    return this.#horizon;
  }

  record(change: StoreChange): void {
    this.#changes.push(change);
    this.#bytes += change.entry.json.length;
    while (this.#changes.length - this.#dropped > this.#bounds.changes || this.#bytes > this.#bounds.bytes) this.#dropOldest();
  }

  /** Undefined if some of them are no longer kept. */
  since(revision: number): StoreChange[] | undefined {
    if (revision < this.#horizon) return undefined;
    let start = this.#changes.length;
    while (start > this.#dropped && (this.#changes[start - 1]?.entry.revision ?? 0) > revision) start -= 1;
    return this.#changes.slice(start);
  }

  #dropOldest(): void {
    const oldest = this.#changes[this.#dropped];
    if (!oldest) return;
    this.#horizon = oldest.entry.revision;
    this.#bytes -= oldest.entry.json.length;
    this.#dropped += 1;
    if (this.#dropped < 1024) return;
    this.#changes = this.#changes.slice(this.#dropped);
    this.#dropped = 0;
  }
}
