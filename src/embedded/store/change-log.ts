import type { StoredObject } from "../kinds/served-kind.ts";
import type { Declaration } from "./declaration.ts";
import type { StoreEntry } from "./entry.ts";

export interface ChangeLogEntry {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  /** Undefined if the object was deleted. */
  readonly entry: StoreEntry | undefined;
  /** Null if the object's file is gone; undefined if it is unchanged. */
  readonly declaration: Declaration | null | undefined;
}

/** Changes are written here before they become visible. Throws an ApiError if that fails. */
export interface ChangeLog {
  append(change: ChangeLogEntry): void;
}

export interface Restored {
  readonly revision: number;
  readonly objects: Iterable<{ resource: string; object: StoredObject; declaration?: Declaration }>;
}
