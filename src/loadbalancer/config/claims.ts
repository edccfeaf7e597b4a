import type { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import type { Community } from "../../api/metallb/community.ts";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { Claim } from "../../resilience/claim.ts";
import { communityClaims } from "./communities.ts";
import { sharedValuesOf, neighborClaims, peerId } from "./peers.ts";
import { poolClaims } from "./pools.ts";

/** An object with claims. */
export type ClaimingObject =
  | { readonly kind: "IPAddressPool"; readonly object: IPAddressPool }
  | { readonly kind: "BGPPeer"; readonly object: BGPPeer }
  | { readonly kind: "Community"; readonly object: Community };

/** The claims of an object, to be recorded. */
export function claimsOf({ kind, object }: ClaimingObject): readonly Claim[] {
  // An older schema may have allowed it.
  if ((object as { spec?: unknown }).spec === undefined) return [];
  if (kind === "IPAddressPool") return poolClaims(object.metadata.name, object.spec);
  if (kind === "Community") return communityClaims(object.spec);
  const subject = peerId(object.spec);
  return [...neighborClaims(object.spec), ...sharedValuesOf(object.spec).map(({ key, field }) => ({ key, field, subject }))];
}
