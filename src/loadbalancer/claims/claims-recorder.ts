import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { Community } from "../../api/metallb/community.ts";
import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { controller, type Runnable } from "../../kube/controller/controller.ts";
import { changesOf, type Source } from "../../kube/controller/source.ts";
import type { Log } from "../../kube/log.ts";
import type { WriteBudget } from "../../kube/status/budget.ts";
import { type ClaimsWriting, writeClaims } from "../../kube/status/write-claims.ts";
import type { RecordedClaim } from "../../resilience/claim.ts";
import { releasedValues, recordClaims } from "../../resilience/claim-record.ts";
import { type ClaimingObject, claimsOf } from "../config/claims.ts";
import type { Loaded } from "../config/load.ts";
import { released } from "./released.ts";

type Watched<T extends KubeObject> = Pick<Cache<T>, "get" | "list" | "subscribe" | "waitForSync">;

export interface ClaimsRecorderOptions {
  /** Fenced: only the leader records. */
  client: KubeClient;
  /** All of the load balancer's namespace and no other. */
  pools: Watched<IPAddressPool>;
  peers: Watched<BGPPeer>;
  communities: Watched<Community>;
  states: Pick<Cache<ConfigurationState>, "list" | "subscribe" | "waitForSync">;
  /** What is in effect over the whole cluster, and a bell for when that changes. */
  loaded: () => Loaded | undefined;
  loading: Source;
  budget: WriteBudget;
  log: Log;
}

const kinds = { IPAddressPool, BGPPeer, Community } as const;
/** The key of the question which values can be released; every other key is an object. */
const RELEASE = "release";

/** Writes into pools, peers and communities since when they ask for the values that only one may have, so that every node decides alike. */
export function claimsRecorder(options: ClaimsRecorderOptions): Runnable {
  const { pools, peers, communities, states, client, budget } = options;
  const claimants = (): ClaimingObject[] => [
    ...pools.list().map((object): ClaimingObject => ({ kind: "IPAddressPool", object })),
    ...peers.list().map((object): ClaimingObject => ({ kind: "BGPPeer", object })),
    ...communities.list().map((object): ClaimingObject => ({ kind: "Community", object })),
  ];
  const find = (key: string): ClaimingObject | undefined => {
    const slash = key.indexOf("/");
    const kind = key.slice(0, slash) as ClaimingObject["kind"];
    const object = { IPAddressPool: pools, BGPPeer: peers, Community: communities }[kind].get(key.slice(slash + 1));
    return object && ({ kind, object } as ClaimingObject);
  };

  return controller("loadbalancer-claims", {
    watches: [
      asking("IPAddressPool", pools),
      asking("BGPPeer", peers),
      asking("Community", communities),
      changesOf(states, () => [RELEASE]),
      { subscribe: (enqueue) => options.loading.subscribe(() => enqueue(RELEASE)) },
    ],
    log: options.log,
    // So that new values need not wait while many old ones are released.
    workers: 4,
    async reconcile(key, { signal, log }) {
      const writing = { client, budget, signal, log };
      if (key !== RELEASE) {
        const claimant = find(key);
        if (claimant) await record(writing, claimant, false);
        return;
      }
      const loaded = options.loaded();
      const leaving = loaded ? claimants().filter(hasLeft) : [];
      if (!loaded || leaving.length === 0) return;
      for (const claimant of leaving.filter(released(loaded, states.list()))) await record(writing, claimant, true);
    },
  });
}

function asking<T extends KubeObject>(kind: ClaimingObject["kind"], cache: Watched<T>): Source {
  return changesOf(cache, (object) => [`${kind}/${keyOf(object)}`]);
}

/** Of objects that are as they were; the question is asked of all of them whenever one of many has changed. */
const left = new WeakMap<KubeObject, boolean>();

function hasLeft(claimant: ClaimingObject): boolean {
  const answer = left.get(claimant.object) ?? releasedValues(claimsOf(claimant), recordOf(claimant)).length > 0;
  left.set(claimant.object, answer);
  return answer;
}

async function record(writing: ClaimsWriting, claimant: ClaimingObject, release: boolean): Promise<void> {
  const { creationTimestamp } = claimant.object.metadata;
  if (creationTimestamp === undefined) return;
  const [created, now] = [new Date(creationTimestamp), new Date()];
  const claims = recordClaims(claimsOf(claimant), recordOf(claimant), { created, now, release });
  await writeClaims(writing, kinds[claimant.kind], claimant.object, { claims, release });
}

function recordOf({ object }: ClaimingObject): readonly RecordedClaim[] {
  return object.status?.claims ?? [];
}
