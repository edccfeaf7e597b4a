import { Prefix } from "../../ip/prefix.ts";
import type { Address } from "../../ip/address.ts";
import type { BgpAd, Config } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import type { Advertised, BgpDecision } from "./decision.ts";
import type { PoolIndex } from "../config/pool-index.ts";
import { adsOf, isForNode, isForService } from "./selection.ts";

/** Whether the node announces the Service over BGP, with what and to which peers; otherwise the first reason not to. */
export function decideBgp(service: ServiceView, node: NodeView, config: Config, pools: PoolIndex): BgpDecision {
  if (service.addresses.length === 0) return { not: "noIPAllocated" };
  const pool = pools.poolOfAll(service.addresses);
  if (!pool) return { not: "ipNotAllowed" };
  const here = adsOf(config.bgpAds, pool.name).filter((ad) => isForNode(ad, node));
  if (here.length === 0) return { not: "notOwner" };
  const ads = here.filter((ad) => isForService(ad, service));
  if (ads.length === 0) return { not: "noMatchingAdvertisement" };
  if (haveConflict(ads, service.addresses)) return { not: "conflictingAdvertisements" };
  if (node.networkUnavailable) return { not: "nodeNetworkUnavailable" };
  if (node.excluded) return { not: "nodeLabeledExcludeBalancers" };
  if (service.local && !service.endpoints.nodes.has(node.name)) return { not: "noLocalEndpoints" };
  if (!service.endpoints.any) return { not: "noEndpoints" };
  return { announce: service.addresses.flatMap((address) => ads.map((ad) => advertised(address, ad))) };
}

function advertised(address: Address, ad: BgpAd): Advertised {
  const { name: advertisement, created, communities, localPref, peers } = ad;
  const prefix = new Prefix(address, lengthFor(address, ad));
  return { prefix, advertisement, created, communities, ...(localPref !== undefined && { localPref }), ...(peers && { peers }) };
}

/** Two of them would give one prefix two local preferences at one peer. */
function haveConflict(ads: readonly BgpAd[], addresses: readonly Address[]): boolean {
  return ads.some((ad, index) =>
    ads
      .slice(index + 1)
      .some(
        (other) =>
          ad.localPref !== other.localPref &&
          haveCommonPeer(ad, other) &&
          addresses.some((address) => lengthFor(address, ad) === lengthFor(address, other)),
      ),
  );
}

function haveCommonPeer({ peers }: BgpAd, other: BgpAd): boolean {
  return !peers || !other.peers || !peers.isDisjointFrom(other.peers);
}

function lengthFor({ family }: Address, { aggregationLength, aggregationLengthV6 }: BgpAd): number {
  return family === 4 ? aggregationLength : aggregationLengthV6;
}
