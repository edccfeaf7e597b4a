import type { Node } from "../../api/core/node.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import { L2VNI } from "../../api/openpe/l2vni.ts";
import { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import type { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../../api/openpe/underlay.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { controller, type Runnable } from "../../kube/controller/controller.ts";
import { changesOf, type Source } from "../../kube/controller/source.ts";
import type { Log } from "../../kube/log.ts";
import type { WriteBudget } from "../../kube/status/budget.ts";
import { writeClaims } from "../../kube/status/write-claims.ts";
import { recordClaims } from "../../resilience/claim-record.ts";
import { recordOf, releasableClaims } from "./claim-release.ts";
import { type ClaimOwner, claimsOf } from "./claims.ts";

type Watched<T extends KubeObject> = Pick<Cache<T>, "get" | "list" | "subscribe" | "waitForSync">;

export interface RouterClaimsOptions {
  /** Fenced: only the leader records. */
  client: KubeClient;
  /** All of the router's namespace and no other. */
  underlays: Watched<Underlay>;
  l2vnis: Watched<L2VNI>;
  l3vnis: Watched<L3VNI>;
  passthroughs: Watched<L3Passthrough>;
  reports: Pick<Cache<RouterNodeConfigurationStatus>, "list" | "subscribe" | "waitForSync">;
  nodes: Pick<Cache<Node>, "list" | "subscribe" | "waitForSync">;
  budget: WriteBudget;
  log: Log;
}

const kinds = { Underlay, L2VNI, L3VNI, L3Passthrough } as const;
/** The key of the question which values can be released; every other key is an object. */
const RELEASE = "release";

/**
 * Writes into each object since when it asks for the values that only one may have, so that every node decides alike. A value is written when it
 * is first asked for, and taken out when it has been left for good.
 */
export function claimsRecorder(options: RouterClaimsOptions): Runnable {
  const { underlays, l2vnis, l3vnis, passthroughs, reports, nodes } = options;

  const claimants = (): ClaimOwner[] => [
    ...underlays.list().map((object): ClaimOwner => ({ kind: "Underlay", object })),
    ...l3vnis.list().map((object): ClaimOwner => ({ kind: "L3VNI", object })),
    ...l2vnis.list().map((object): ClaimOwner => ({ kind: "L2VNI", object })),
    ...passthroughs.list().map((object): ClaimOwner => ({ kind: "L3Passthrough", object })),
  ];
  const find = (key: string): ClaimOwner | undefined => {
    const slash = key.indexOf("/");
    const [kind, name] = [key.slice(0, slash), key.slice(slash + 1)];
    const caches = { Underlay: underlays, L2VNI: l2vnis, L3VNI: l3vnis, L3Passthrough: passthroughs };
    const object = caches[kind as ClaimOwner["kind"]].get(name);
    return object && ({ kind, object } as ClaimOwner);
  };

  return controller("claims", {
    watches: [
      asking("Underlay", underlays),
      asking("L2VNI", l2vnis),
      asking("L3VNI", l3vnis),
      asking("L3Passthrough", passthroughs),
      changesOf(reports, () => [RELEASE]),
      changesOf(nodes, () => [RELEASE]),
    ],
    log: options.log,
    // So that new values need not wait while many old ones are released.
    workers: 4,
    async reconcile(key, { signal, log }) {
      const present = { now: new Date(), signal, log };
      if (key !== RELEASE) {
        const claimant = find(key);
        if (claimant) await write(options, claimant, { ...present, release: false });
        return;
      }
      const labeled = nodes.list().map(({ metadata }) => ({ name: metadata.name, labels: metadata.labels ?? {} }));
      const free = releasableClaims({ claimants: claimants().filter(isThere), nodes: labeled, reports: reports.list(), now: present.now });
      for (const claimant of free) await write(options, claimant, { ...present, release: true });
    },
  });
}

/** An object that changed has perhaps a value to record, and has perhaps made room for others. */
function asking<T extends KubeObject>(kind: ClaimOwner["kind"], cache: Watched<T>): Source {
  return changesOf(cache, (object) => [`${kind}/${keyOf(object)}`, RELEASE]);
}

async function write(
  { client, budget }: RouterClaimsOptions,
  claimant: ClaimOwner,
  { now, release, signal, log }: { now: Date; release: boolean; signal: AbortSignal; log: Log },
): Promise<void> {
  const { creationTimestamp } = claimant.object.metadata;
  if (creationTimestamp === undefined) return;
  const created = new Date(creationTimestamp);
  const claims = recordClaims(claimsOf(claimant, undefined), recordOf(claimant), { created, now, release });
  await writeClaims({ client, budget, log, signal }, kinds[claimant.kind], claimant.object, { claims, release });
}

function isThere({ object }: ClaimOwner): boolean {
  return object.metadata.deletionTimestamp === undefined;
}
