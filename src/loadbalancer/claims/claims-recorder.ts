import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { Community } from "../../api/metallb/community.ts";
import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import type { Source } from "../../kube/controller/source.ts";
import type { Log } from "../../kube/log.ts";
import type { WriteBudget } from "../../kube/status/budget.ts";
import { releasedValues } from "../../resilience/claim-record.ts";
import { claimsRecorder, recordOf, type Watched } from "../../resilience/claims-recorder.ts";
import type { Loaded } from "../config/load.ts";
import type { Claim } from "../../resilience/claim.ts";
import { communityClaims } from "../config/communities.ts";
import { sharedValuesOf, neighborClaims, peerId } from "../config/peers.ts";
import { poolClaims } from "../config/pools.ts";

export interface ClaimsRecorderOptions {
  /** Fenced: only the leader records. */
  client: KubeClient;
  /** Only of the load balancer's namespace. */
  pools: Watched<IPAddressPool>;
  peers: Watched<BGPPeer>;
  communities: Watched<Community>;
  states: Pick<Cache<ConfigurationState>, "list" | "subscribe" | "waitForSync">;
  /** The effective configuration of the whole cluster, and a source for when it changes. */
  loaded: () => Loaded | undefined;
  loading: Source;
  budget: WriteBudget;
  log: Log;
}

export function loadBalancerClaims(options: ClaimsRecorderOptions): Runnable {
  const { pools, peers, communities, states, client, budget, log } = options;
  return claimsRecorder<ClaimingObject>({
    name: "loadbalancer-claims",
    client,
    budget,
    log,
    objects: [
      { kind: IPAddressPool, cache: pools },
      { kind: BGPPeer, cache: peers },
      { kind: Community, cache: communities },
    ],
    claimsOf,
    releaseOn: [states],
    alsoReleaseOn: options.loading,
    releasable(owners) {
      const loaded = options.loaded();
      const leaving = loaded ? owners.filter(hasLeft) : [];
      return loaded && leaving.length > 0 ? leaving.filter(released(loaded, states.list())) : [];
    },
  });
}

/** Per unchanged object: all of them are checked whenever one changes. */
const left = new WeakMap<KubeObject, boolean>();

function hasLeft(claimant: ClaimingObject): boolean {
  const answer = left.get(claimant.object) ?? releasedValues(claimsOf(claimant), recordOf(claimant)).length > 0;
  left.set(claimant.object, answer);
  return answer;
}

/** Whether the released values of a resource are unused: all its claims are its own, and no component runs its earlier version or may return to it. */
export function released(loaded: Loaded, states: readonly ConfigurationState[]): (claimant: ClaimingObject) => boolean {
  const ours = byName(loaded.resources);
  const theirs = states.map(({ status }) => byName(status?.resources ?? []));
  return ({ kind, object: { metadata } }) => {
    const resource = `${kind}/${metadata.name}`;
    const here = ours.get(resource);
    if (here?.state !== "Applied" || here.generation !== metadata.generation) return false;
    return theirs.every((component) => {
      const there = component.get(resource);
      // A component with too many resources to list omits those that are applied as written.
      return !there || there.state === "Failed" || (there.state === "Applied" && there.observedGeneration === metadata.generation);
    });
  };
}

function byName<T extends { readonly kind: string; readonly name: string }>(resources: readonly T[]): Map<string, T> {
  return new Map(resources.map((resource) => [`${resource.kind}/${resource.name}`, resource]));
}

export type ClaimingObject =
  | { readonly kind: "IPAddressPool"; readonly object: IPAddressPool }
  | { readonly kind: "BGPPeer"; readonly object: BGPPeer }
  | { readonly kind: "Community"; readonly object: Community };

export function claimsOf({ kind, object }: ClaimingObject): readonly Claim[] {
  // An older schema may have allowed it.
  if ((object as { spec?: unknown }).spec === undefined) return [];
  if (kind === "IPAddressPool") return poolClaims(object.metadata.name, object.spec);
  if (kind === "Community") return communityClaims(object.spec);
  const subject = peerId(object.spec);
  return [...neighborClaims(object.spec), ...sharedValuesOf(object.spec).map(({ key, field }) => ({ key, field, subject }))];
}
