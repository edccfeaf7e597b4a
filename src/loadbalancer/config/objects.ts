import type { Secret } from "../../api/core/secret.ts";
import { type KubeObject, manifestsOf } from "../../api/kind.ts";
import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { Community } from "../../api/metallb/community.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";

export interface Labeled {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ConfigObjects {
  readonly pools: readonly IPAddressPool[];
  readonly peers: readonly BGPPeer[];
  readonly bfdProfiles: readonly BFDProfile[];
  readonly bgpAdvertisements: readonly BGPAdvertisement[];
  readonly l2Advertisements: readonly L2Advertisement[];
  readonly communities: readonly Community[];
  /** Their labels decide which pools are for them. */
  readonly namespaces: readonly Labeled[];
  readonly nodes: readonly (Labeled & { readonly addresses?: readonly string[] })[];
  /** The Secrets that peers name, by name. Neither content nor existence of an unreadable Secret is known. */
  secret(name: string): Secret | "unreadable" | undefined;
  /** The ConfigMap `bgpextras`, key `extras`: lines for FRR as they are. */
  readonly extras?: string;
}

type Part = "pools" | "peers" | "bfdProfiles" | "bgpAdvertisements" | "l2Advertisements" | "communities";

type Caches = { readonly [P in Part]: { list(): ConfigObjects[P] } };

export function cachedObjects(caches: Caches): Pick<ConfigObjects, Part> {
  return {
    pools: caches.pools.list(),
    peers: caches.peers.list(),
    bfdProfiles: caches.bfdProfiles.list(),
    bgpAdvertisements: caches.bgpAdvertisements.list(),
    l2Advertisements: caches.l2Advertisements.list(),
    communities: caches.communities.list(),
  };
}

export function objectsIn(manifests: readonly KubeObject[]): Pick<ConfigObjects, Part> {
  return {
    pools: manifestsOf<IPAddressPool>(IPAddressPool, manifests),
    peers: manifestsOf<BGPPeer>(BGPPeer, manifests),
    bfdProfiles: manifestsOf<BFDProfile>(BFDProfile, manifests),
    bgpAdvertisements: manifestsOf<BGPAdvertisement>(BGPAdvertisement, manifests),
    l2Advertisements: manifestsOf<L2Advertisement>(L2Advertisement, manifests),
    communities: manifestsOf<Community>(Community, manifests),
  };
}

export function labeled(objects: readonly KubeObject[]): Labeled[] {
  return objects.map(({ metadata: { name, labels = {} } }) => ({ name, labels }));
}
