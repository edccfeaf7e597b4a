import { badRequest, expired } from "../store/api-error.ts";
import { keyOf } from "../../api/kind.ts";
import type { Collection } from "../store/collection.ts";
import type { StoreEntry } from "../store/entry.ts";
import { isSelected, type ListSelection } from "./selection.ts";

/** A snapshot keeps the objects that it refers to in memory. */
const SNAPSHOTS_MAX = 32;
const SNAPSHOT_MS = 5 * 60_000;

export interface ListPage {
  readonly entries: readonly StoreEntry[];
  readonly revision: number;
  readonly continue?: string;
  /** Known only without a selector. */
  readonly remaining?: number;
}

interface Snapshot {
  readonly collection: Collection;
  readonly revision: number;
  readonly entries: readonly StoreEntry[];
  readonly until: number;
}

/** All pages of a list show the collection at the time of the first one. */
export class Pages {
  #snapshots: Snapshot[] = [];

  first(collection: Collection, selection: ListSelection, revision: number, limit: number): ListPage {
    return this.#page(collection, collection.list(selection.namespace), selection, revision, limit, "");
  }

  next(collection: Collection, selection: ListSelection, current: number, limit: number, token: string): ListPage {
    const { rv, start } = decode(token);
    // After a 410 the client continues with the current state.
    if (rv < 0) return this.#page(collection, collection.list(selection.namespace), selection, current, limit, start);
    const snapshot = this.#snapshots.find((kept) => kept.collection === collection && kept.revision === rv && kept.until > Date.now());
    if (!snapshot) throw expired(TOO_OLD, encode(-1, start));
    return this.#page(collection, snapshot.entries, selection, rv, limit, start);
  }

  #page(
    collection: Collection,
    all: readonly StoreEntry[],
    selection: ListSelection,
    revision: number,
    limit: number,
    start: string,
  ): ListPage {
    const left = all.filter((entry) => keyOf(entry.object) >= start && isSelected(selection, entry.object));
    if (limit <= 0 || left.length <= limit) return { entries: left, revision };
    const entries = left.slice(0, limit);
    const last = entries.at(-1);
    this.#keep(collection, revision);
    return {
      entries,
      revision,
      continue: encode(revision, `${last ? keyOf(last.object) : ""}\u0000`),
      ...(!selection.matches && { remaining: left.length - limit }),
    };
  }

  #keep(collection: Collection, revision: number): void {
    const now = Date.now();
    const known = this.#snapshots.some((kept) => kept.collection === collection && kept.revision === revision);
    this.#snapshots = this.#snapshots.filter(({ until }) => until > now);
    if (!known) this.#snapshots.push({ collection, revision, entries: collection.list(), until: now + SNAPSHOT_MS });
    if (this.#snapshots.length > SNAPSHOTS_MAX) this.#snapshots.shift();
  }
}

const TOO_OLD =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

function encode(rv: number, start: string): string {
  return Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv, start })).toString("base64url");
}

function decode(token: string): { rv: number; start: string } {
  try {
    const { v, rv, start } = JSON.parse(Buffer.from(token, "base64url").toString("utf8")) as Record<string, unknown>;
    if (v === "meta.k8s.io/v1" && typeof rv === "number" && typeof start === "string") return { rv, start };
  } catch {
    // Not one of ours.
  }
  throw badRequest("invalid continue token: continue key is not valid");
}
