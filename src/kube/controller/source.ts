import { isDeepStrictEqual } from "node:util";
import { type KubeObject, keyOf } from "../../api/kind.ts";
import type { Cache } from "../cache/cache.ts";

export interface Source {
  subscribe(enqueue: (key: string, options?: { priority?: "low" }) => void): () => void;
  /** Resolves when the first list is complete; no reconcile starts before that. */
  ready?(signal: AbortSignal): Promise<void>;
  keys?(): Iterable<string>;
}

/** The changes of a cache as keys: the object's own, or those that `keys` returns. On an update, also for the old object. */
export function changesOf<T extends KubeObject>(
  cache: Pick<Cache<T>, "subscribe" | "waitForSync" | "list">,
  keys: (object: T) => Iterable<string> = (object) => [keyOf(object)],
): Source {
  return {
    subscribe: (enqueue) =>
      cache.subscribe((change) => {
        const objects = change.type === "updated" ? [change.old, change.object] : [change.object];
        const priority = change.type === "added" && change.initial ? ({ priority: "low" } as const) : undefined;
        // Deduplicated: an idle worker takes the first at once, and would run again for the second.
        for (const key of new Set(objects.flatMap((object) => Array.from(keys(object))))) enqueue(key, priority);
      }),
    ready: (signal) => cache.waitForSync(signal),
    keys: () => cache.list().values().flatMap(keys),
  };
}

/** The changes of some parts of the objects. An update with equal parts is none. */
export function changesOfParts<T extends KubeObject>(
  cache: Pick<Cache<T>, "subscribe" | "waitForSync">,
  partsOf: (object: T) => unknown,
  keys: (object: T) => Iterable<string>,
): Source {
  return {
    subscribe: (enqueue) =>
      cache.subscribe((change) => {
        if (change.type === "updated" && isDeepStrictEqual(partsOf(change.old), partsOf(change.object))) return;
        const objects = change.type === "updated" ? [change.old, change.object] : [change.object];
        for (const key of new Set(objects.flatMap((object) => Array.from(keys(object))))) enqueue(key);
      }),
    ready: (signal) => cache.waitForSync(signal),
  };
}

/** Enqueues keys from inside the process. Keys before the first subscriber are kept for it. */
export class ChannelSource implements Source {
  readonly #listeners = new Set<(key: string) => void>();
  readonly #pending = new Set<string>();

  ring(key = "all"): void {
    if (this.#listeners.size === 0) this.#pending.add(key);
    for (const listener of this.#listeners) listener(key);
  }

  subscribe(enqueue: (key: string) => void): () => void {
    const listener = (key: string) => enqueue(key);
    this.#listeners.add(listener);
    for (const key of this.#pending) listener(key);
    this.#pending.clear();
    return () => this.#listeners.delete(listener);
  }
}
