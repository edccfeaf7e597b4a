import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../api/kind.ts";
import type { Cache, Change } from "../kube/cache/cache.ts";
import type { Source } from "../kube/controller/source.ts";

/** The changes of a cache that can change the configuration: what programs write into a status is none, except who asked first for what. */
export function configChangesOf<T extends KubeObject>(cache: Pick<Cache<T>, "subscribe" | "waitForSync">, key: string): Source {
  return {
    subscribe: (enqueue) =>
      cache.subscribe((change) => {
        if (matters(change)) enqueue(key);
      }),
    ready: (signal) => cache.waitForSync(signal),
  };
}

function matters<T extends KubeObject>(change: Change<T>): boolean {
  return change.type !== "updated" || !isDeepStrictEqual(whatCounts(change.old), whatCounts(change.object));
}

function whatCounts(object: KubeObject): unknown {
  const { uid, generation, labels = {}, deletionTimestamp } = object.metadata;
  const { claims = [] } = (object as { status?: { claims?: unknown[] } }).status ?? {};
  return { uid, generation, labels, deletionTimestamp, claims };
}
