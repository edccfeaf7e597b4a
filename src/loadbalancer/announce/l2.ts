import { hash } from "node:crypto";
import { selects } from "../../api/core/label-selector.ts";
import type { Address } from "../../ip/address.ts";
import type { Config, L2Ad } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import type { L2Decision, NotAnnounced } from "./decision.ts";
import type { PoolIndex } from "./pools.ts";
import { adsOf, isForNode, isForService } from "./selection.ts";

/** Which node answers for the addresses of the Service, and who would take over from it; otherwise the first reason why no node does. */
export function decideL2(
  service: ServiceView,
  nodes: Iterable<NodeView>,
  config: Config,
  pools: PoolIndex,
  isAlive: (node: string) => boolean,
): L2Decision {
  const [first] = service.addresses;
  if (!first) return { not: "noIPAllocated" };
  const pool = pools.poolOfAll(service.addresses);
  if (!pool) return { not: "ipNotAllowed" };
  const ads = adsOf(config.l2Ads, pool.name).filter((ad) => isForService(ad, service));
  if (ads.length === 0) return { not: "noMatchingAdvertisement" };
  // Who else has the address may be selected by other advertisements, and the two would elect different nodes.
  if (service.sharingKey && ads.some(({ serviceSelectors }) => serviceSelectors.length > 0)) return { not: "sharedIPWithServiceSelector" };

  const { endpoints, local } = service;
  const conditions: [reason: NotAnnounced, holds: (node: NodeView) => boolean][] = [
    ["noMatchingAdvertisement", (node) => ads.some((ad) => isForNode(ad, node))],
    ["notOwner", ({ name }) => isAlive(name)],
    ["nodeNetworkUnavailable", ({ networkUnavailable }) => !networkUnavailable],
    ["nodeLabeledExcludeBalancers", ({ excluded }) => !excluded],
    ["noLocalEndpoints", ({ name }) => !local || endpoints.nodes.has(name)],
    ["noEndpoints", () => endpoints.any],
  ];
  let candidates = [...nodes];
  for (const [reason, holds] of conditions) {
    candidates = candidates.filter(holds);
    if (candidates.length === 0) return { not: reason };
  }

  const order = elected(candidates, ads, first);
  const winner = order[0] as NodeView;
  const interfaces = interfacesOf(ads.filter((ad) => isForNode(ad, winner)));
  return {
    node: winner.name,
    addresses: service.addresses,
    candidates: order.map(({ name }) => name),
    ...(interfaces && { interfaces }),
  };
}

/** By preference, then by lot: the hash spreads addresses over nodes, and every node draws the same. */
function elected(candidates: readonly NodeView[], ads: readonly L2Ad[], address: Address): NodeView[] {
  const text = address.toString();
  return candidates
    .map((node) => ({ node, score: scoreOf(node, ads), lot: hash("sha256", `${node.name}#${text}`, "hex") }))
    .sort((a, b) => b.score - a.score || (a.lot < b.lot ? -1 : 1))
    .map(({ node }) => node);
}

function scoreOf(node: NodeView, ads: readonly L2Ad[]): number {
  let score = 0;
  for (const ad of ads) {
    if (!isForNode(ad, node)) continue;
    for (const { weight, selector } of ad.preferences) if (selects(selector, node.labels)) score += weight;
  }
  return score;
}

function interfacesOf(ads: readonly L2Ad[]): readonly string[] | undefined {
  const named = new Set<string>();
  for (const { interfaces } of ads) {
    if (!interfaces) return undefined;
    for (const name of interfaces) named.add(name);
  }
  return [...named].sort();
}
