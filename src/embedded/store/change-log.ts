import type { StoredObject } from "../kinds/served-kind.ts";
import type { Declaration } from "./declaration.ts";
import type { StoreEntry } from "./entry.ts";

/** One change, for the disk. */
export interface ChangeLogEntry {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  /** Undefined when the object is gone. */
  readonly entry: StoreEntry | undefined;
  /** Null when the object's file is gone; undefined when nothing changed about it. */
  readonly declaration: Declaration | null | undefined;
}

/** Where changes are written before they count. Throws an ApiFault when they cannot be. */
export interface ChangeLog {
  append(change: ChangeLogEntry): void;
}

/** What was there when the process last ended. */
export interface Restored {
  readonly revision: number;
  readonly objects: Iterable<{ resource: string; object: StoredObject; declaration?: Declaration }>;
}
