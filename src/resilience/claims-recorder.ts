import { keyOf, type Kind, type KubeObject } from "../api/kind.ts";
import type { Cache } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { controller, type Runnable } from "../kube/controller/controller.ts";
import { changesOf, type Source } from "../kube/controller/source.ts";
import type { Log } from "../kube/log.ts";
import type { WriteBudget } from "../kube/status/budget.ts";
import { writeClaims } from "../kube/status/write-claims.ts";
import type { Claim, RecordedClaim } from "./claim.ts";
import { recordClaims } from "./claim-record.ts";

export type Watched<T extends KubeObject = KubeObject> = Pick<Cache<T>, "get" | "list" | "subscribe" | "waitForSync">;

interface RecordedOwner {
  readonly kind: string;
  readonly object: KubeObject & { status?: { claims?: readonly RecordedClaim[] } };
}

interface Options<O extends RecordedOwner> {
  /** Of the controller. */
  name: string;
  /** Fenced: only the leader records. */
  client: KubeClient;
  budget: WriteBudget;
  log: Log;
  objects: readonly { kind: Kind; cache: Watched }[];
  claimsOf: (owner: O) => readonly Claim[];
  /** After changes of these, released values may be unused. */
  releaseOn: readonly Pick<Watched, "list" | "subscribe" | "waitForSync">[];
  /** The same, for changes of something else. */
  alsoReleaseOn?: Source;
  /** The owners whose released values are no longer used anywhere. */
  releasable: (owners: readonly O[], now: Date) => readonly O[];
}

/** The key that checks which values can be released; every other key is an object. */
const RELEASE = "release";

/**
 * Records in `status.claims` of each object since when it has its claims, so that every node decides alike. A claim is added when the spec first has it,
 * and removed when the spec no longer has it and nothing uses it.
 */
export function claimsRecorder<O extends RecordedOwner>(options: Options<O>): Runnable {
  const { objects, client, budget, alsoReleaseOn } = options;
  return controller(options.name, {
    watches: [
      ...objects.map(({ kind, cache }) => changesOf(cache, (object) => [`${kind.kind}/${keyOf(object)}`])),
      ...options.releaseOn.map((cache) => changesOf(cache, () => [RELEASE])),
      ...(alsoReleaseOn ? [{ subscribe: (enqueue: (key: string) => void) => alsoReleaseOn.subscribe(() => enqueue(RELEASE)) }] : []),
    ],
    log: options.log,
    // New claims do not wait while many old ones are released.
    workers: 4,
    async reconcile(key, { signal, log }) {
      const now = new Date();
      const record = async (kind: Kind, owner: O, release: boolean) => {
        const { creationTimestamp } = owner.object.metadata;
        if (creationTimestamp === undefined) return;
        const claims = recordClaims(options.claimsOf(owner), recordOf(owner), { created: new Date(creationTimestamp), now, release });
        await writeClaims({ client, budget, log, signal }, kind, owner.object, { claims, release });
      };
      if (key === RELEASE) {
        const owners = objects.flatMap(({ kind, cache }) => cache.list().map((object) => ({ kind: kind.kind, object }) as O));
        for (const owner of options.releasable(owners, now)) {
          const kind = objects.find((one) => one.kind.kind === owner.kind)?.kind;
          if (kind) await record(kind, owner, true);
        }
        return;
      }
      const slash = key.indexOf("/");
      const found = objects.find(({ kind }) => kind.kind === key.slice(0, slash));
      const object = found?.cache.get(key.slice(slash + 1));
      if (found && object) await record(found.kind, { kind: found.kind.kind, object } as O, false);
    },
  });
}

export function recordOf({ object }: RecordedOwner): readonly RecordedClaim[] {
  return object.status?.claims ?? [];
}
