import type { ServedKind } from "../kinds/served-kind.ts";
import { keyOf } from "../../api/kind.ts";
import type { StoreEntry } from "./entry.ts";
import { ChangeHistory, type StoreChange } from "./history.ts";

export interface Watcher {
  /** Called in the tick of every change; must not write. */
  noticed(change: StoreChange): void;
  /** Called after it has thrown; it gets no further changes. */
  cutOff(error: unknown): void;
}

export class Collection {
  readonly kind: ServedKind;
  readonly history: ChangeHistory;
  readonly #entries = new Map<string, StoreEntry>();
  readonly #watchers = new Set<Watcher>();
  #revision: number;
  /** Built on demand; added and removed objects invalidate it. */
  #sortedKeys: string[] | undefined;

  constructor(kind: ServedKind, revision: number) {
    this.kind = kind;
    this.history = new ChangeHistory(revision);
    this.#revision = revision;
  }

  get revision(): number {
    return this.#revision;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): StoreEntry | undefined {
    return this.#entries.get(key);
  }

  /** Used at start; watchers are not called. */
  restore(entry: StoreEntry): void {
    this.#entries.set(keyOf(entry.object), entry);
    this.#sortedKeys = undefined;
  }

  apply(change: StoreChange): void {
    const key = keyOf(change.entry.object);
    if (change.type === "DELETED") this.#entries.delete(key);
    else this.#entries.set(key, change.entry);
    if (change.type !== "MODIFIED") this.#sortedKeys = undefined;
    this.#revision = change.entry.revision;
    this.history.record(change);
    for (const watcher of this.#watchers) this.#tell(watcher, change);
  }

  /** An error of a watcher must not reach the writer or other watchers: the change is committed. */
  #tell(watcher: Watcher, change: StoreChange): void {
    try {
      watcher.noticed(change);
    } catch (error) {
      this.#watchers.delete(watcher);
      watcher.cutOff(error);
    }
  }

  /** Sorted by key, as a server lists them. */
  list(namespace?: string): StoreEntry[] {
    const keys = this.#keys();
    const prefix = namespace === undefined ? "" : `${namespace}/`;
    const entries: StoreEntry[] = [];
    for (let at = firstFrom(keys, prefix); at < keys.length; at++) {
      const key = keys[at] ?? "";
      if (!key.startsWith(prefix)) break;
      const entry = this.#entries.get(key);
      if (entry) entries.push(entry);
    }
    return entries;
  }

  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #keys(): string[] {
    this.#sortedKeys ??= [...this.#entries.keys()].sort((a, b) => (a < b ? -1 : 1));
    return this.#sortedKeys;
  }
}

function firstFrom(sorted: readonly string[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
