import type { Secret } from "../../api/core/secret.ts";
import type { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import type { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import type { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import type { Community } from "../../api/metallb/community.ts";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";

export interface Labelled {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Everything that the load balancer's configuration is made of, as it stands in its namespace. */
export interface ConfigObjects {
  readonly pools: readonly IPAddressPool[];
  readonly peers: readonly BGPPeer[];
  readonly bfdProfiles: readonly BFDProfile[];
  readonly bgpAdvertisements: readonly BGPAdvertisement[];
  readonly l2Advertisements: readonly L2Advertisement[];
  readonly communities: readonly Community[];
  /** All of the cluster: their labels decide which pools are for them. */
  readonly namespaces: readonly Labelled[];
  readonly nodes: readonly (Labelled & { readonly addresses?: readonly string[] })[];
  /** Those that peers name, by name. Of one that is unreadable nobody can tell what it holds, nor whether it is there. */
  secret(name: string): Secret | "unreadable" | undefined;
  /** The ConfigMap `bgpextras`, key `extras`: lines for FRR as they are. */
  readonly extras?: string;
}
