import { keyOf, type KubeObject } from "../../src/api/kind.ts";
import type { Cache } from "../../src/kube/cache/cache.ts";
import { compareResourceVersions } from "../../src/kube/client/resource-version.ts";
import type { Runnable } from "../../src/kube/controller/controller.ts";
import type { Source } from "../../src/kube/controller/source.ts";

/** Something that does in a lab what another project's controller does in a cluster. */
export interface StandIn {
  readonly caches: readonly Pick<Cache<KubeObject>, "start" | "waitForSync">[];
  readonly controllers: readonly Runnable[];
}

/** Runs them; resolves when they know what there is. What is returned ends them. */
export async function runStandIns(standIns: readonly StandIn[]): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const caches = standIns.flatMap((standIn) => standIn.caches);
  for (const cache of caches) cache.start(stop.signal);
  await Promise.all(caches.map((cache) => cache.waitForSync(stop.signal)));
  const ended = Promise.all(standIns.flatMap((standIn) => standIn.controllers.map((controller) => controller.run(stop.signal))));
  return async () => {
    stop.abort();
    await ended;
  };
}

/** Changes of a cache by which what `of` gives of an object became another: what controllers with a predicate look at. */
export function changesIn<T extends KubeObject>(cache: Cache<T>, of: (object: T) => string): Source {
  return {
    subscribe: (enqueue) =>
      cache.subscribe((change) => {
        if (change.type !== "updated" || of(change.old) !== of(change.object)) enqueue(keyOf(change.object));
      }),
    ready: (signal) => cache.waitForSync(signal),
  };
}

/** A cache, and over it what its owner has written since. */
export class Latest<T extends KubeObject> {
  readonly #cache: Cache<T>;
  readonly #written = new Map<string, T>();

  constructor(cache: Cache<T>) {
    this.#cache = cache;
  }

  get(key: string): T | undefined {
    const [cached, written] = [this.#cache.get(key), this.#written.get(key)];
    if (!cached || cached.metadata.uid !== written?.metadata.uid) return cached;
    const ahead = compareResourceVersions(cached.metadata.resourceVersion ?? "", written?.metadata.resourceVersion ?? "") < 0;
    return ahead ? written : cached;
  }

  wrote(object: T): void {
    this.#written.set(keyOf(object), object);
  }
}
