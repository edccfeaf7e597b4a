import type { KubeObject } from "../../api/kind.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import { changesOfParts, type Source } from "../../kube/controller/source.ts";
import type { RecordedClaim } from "../../resilience/claim.ts";

type Watched<T extends KubeObject> = Pick<Cache<T>, "subscribe" | "waitForSync">;

/** The cache changes that can affect the configuration: status changes do not, except claims. */
export function configChangesOf<T extends KubeObject>(cache: Watched<T>, key: string): Source {
  return changesOfParts(cache, configParts, () => [key]);
}

/** The changes of a cache of stripped objects, as keys. Updates of stripped fields, such as a node's heartbeat, are ignored. */
export function relevantChangesOf<T extends KubeObject>(cache: Watched<T>, keys: (object: T) => Iterable<string>): Source {
  return changesOfParts(cache, withoutVersion, keys);
}

function configParts(object: KubeObject): unknown {
  const { uid, generation, labels = {}, deletionTimestamp, creationTimestamp } = object.metadata;
  const { claims = [] } = (object as { status?: { claims?: readonly RecordedClaim[] } }).status ?? {};
  // The first record of an unedited object says no more than its creation time.
  const isInitial = generation === 1 && claims.every(({ since }) => since === creationTimestamp);
  return { uid, generation, labels, deletionTimestamp, claims: isInitial ? [] : claims };
}

function withoutVersion(object: KubeObject): KubeObject {
  const metadata = { ...object.metadata };
  delete metadata.resourceVersion;
  return { ...object, metadata };
}
