import type { Secret } from "../../api/core/secret.ts";
import type { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import type { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import type { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import type { Community } from "../../api/metallb/community.ts";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";

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
