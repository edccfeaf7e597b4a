import { type KubeObject, keyOf } from "../../api/kind.ts";
import type { Cache } from "../cache/cache.ts";

/** What tells a controller that a key is worth a look. */
export interface Source {
  subscribe(enqueue: (key: string, options?: { priority?: "low" }) => void): () => void;
  /** Resolves when the first look is complete; no reconcile starts before that. */
  ready?(signal: AbortSignal): Promise<void>;
  /** Every key there is now, for resyncs. */
  keys?(): Iterable<string>;
}

/**
 * The changes of a cache, as keys: the object's own, or those that `keys` names for it. An update asks for the old object too, so that whoever an
 * object has left hears of it.
 */
export function changesOf<T extends KubeObject>(
  cache: Pick<Cache<T>, "subscribe" | "waitForSync" | "list">,
  keys: (object: T) => Iterable<string> = (object) => [keyOf(object)],
): Source {
  return {
    subscribe: (enqueue) =>
      cache.subscribe((change) => {
        const objects = change.type === "updated" ? [change.old, change.object] : [change.object];
        const priority = change.type === "added" && change.initial ? ({ priority: "low" } as const) : undefined;
        // Each once: an idle worker has the first already, and would be sent again for the second.
        for (const key of new Set(objects.flatMap((object) => Array.from(keys(object))))) enqueue(key, priority);
      }),
    ready: (signal) => cache.waitForSync(signal),
    keys: () => cache.list().values().flatMap(keys),
  };
}

/** A doorbell inside the process. What rings while nobody listens is kept for the first who does. */
export class ChannelSource implements Source {
  readonly #listeners = new Set<(key: string) => void>();
  readonly #unheard = new Set<string>();

  ring(key = "all"): void {
    if (this.#listeners.size === 0) this.#unheard.add(key);
    for (const listener of this.#listeners) listener(key);
  }

  subscribe(enqueue: (key: string) => void): () => void {
    const listener = (key: string) => enqueue(key);
    this.#listeners.add(listener);
    for (const key of this.#unheard) listener(key);
    this.#unheard.clear();
    return () => this.#listeners.delete(listener);
  }
}
