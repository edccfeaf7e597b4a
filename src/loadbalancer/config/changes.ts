import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../api/kind.ts";
import type { Cache, Change } from "../../kube/cache/cache.ts";
import type { Source } from "../../kube/controller/source.ts";
import type { RecordedClaim } from "../../resilience/claim.ts";

/** The cache changes that can affect the configuration: status changes do not, except claims. */
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
  return change.type !== "updated" || !isDeepStrictEqual(relevantParts(change.old), relevantParts(change.object));
}

function relevantParts(object: KubeObject): unknown {
  const { uid, generation, labels = {}, deletionTimestamp, creationTimestamp } = object.metadata;
  const { claims = [] } = (object as { status?: { claims?: readonly RecordedClaim[] } }).status ?? {};
  // The first record of an unedited object says no more than its creation time.
  const isInitial = generation === 1 && claims.every(({ since }) => since === creationTimestamp);
  return { uid, generation, labels, deletionTimestamp, claims: isInitial ? [] : claims };
}
