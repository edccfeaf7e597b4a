import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../api/kind.ts";
import type { Cache, Change } from "../../kube/cache/cache.ts";
import type { Source } from "../../kube/controller/source.ts";

/** The changes of a cache of stripped objects, as keys. Updates of stripped fields, such as a node's heartbeat, are ignored. */
export function relevantChangesOf<T extends KubeObject>(
  cache: Pick<Cache<T>, "subscribe" | "waitForSync">,
  keys: (object: T) => Iterable<string>,
): Source {
  return {
    subscribe: (enqueue) =>
      cache.subscribe((change) => {
        if (!counts(change)) return;
        const objects = change.type === "updated" ? [change.old, change.object] : [change.object];
        for (const key of new Set(objects.flatMap((object) => Array.from(keys(object))))) enqueue(key);
      }),
    ready: (signal) => cache.waitForSync(signal),
  };
}

function counts<T extends KubeObject>(change: Change<T>): boolean {
  return change.type !== "updated" || !isDeepStrictEqual(withoutVersion(change.old), withoutVersion(change.object));
}

function withoutVersion(object: KubeObject): KubeObject {
  const metadata = { ...object.metadata };
  delete metadata.resourceVersion;
  return { ...object, metadata };
}
