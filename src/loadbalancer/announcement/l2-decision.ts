import { hash } from "node:crypto";
import { selects } from "../../api/core/label-selector.ts";
import type { Config, L2Ad } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import type { NotAnnounced } from "../reasons.ts";
import type { PoolIndex } from "../config/pool-index.ts";
import { adsOf, isForNode, isForService } from "./selection.ts";

type Not = { readonly not: NotAnnounced };

/** Nodes that may announce an address, each with its preference. */
export type Candidates = ReadonlyMap<string, number>;

export function l2AdsOf(service: ServiceView, config: Config, pools: PoolIndex): readonly L2Ad[] | Not {
  if (service.addresses.length === 0) return { not: "noIPAllocated" };
  const pool = pools.poolOfAll(service.addresses);
  if (!pool) return { not: "ipNotAllowed" };
  const ads = adsOf(config.l2Ads, pool.name).filter((ad) => isForService(ad, service));
  if (ads.length === 0) return { not: "noMatchingAdvertisement" };
  // Another Service with the address may be selected by other advertisements, and the two would elect different nodes.
  if (service.sharingKey && ads.some(({ serviceSelectors }) => serviceSelectors.length > 0)) return { not: "sharedIPWithServiceSelector" };
  return ads;
}

/** The candidates for Services of these advertisements. */
export function usableNodes(ads: readonly L2Ad[], nodes: Iterable<NodeView>, isAlive: (node: string) => boolean): Candidates | Not {
  const conditions: [reason: NotAnnounced, holds: (node: NodeView) => boolean][] = [
    ["noMatchingAdvertisement", (node) => ads.some((ad) => isForNode(ad, node))],
    ["notOwner", ({ name }) => isAlive(name)],
    ["nodeNetworkUnavailable", ({ networkUnavailable }) => !networkUnavailable],
    ["nodeLabeledExcludeBalancers", ({ excluded }) => !excluded],
  ];
  let able = [...nodes];
  for (const [reason, holds] of conditions) {
    able = able.filter(holds);
    if (able.length === 0) return { not: reason };
  }
  return new Map(able.map((node) => [node.name, preferenceFor(node, ads)]));
}

export function candidatesOf({ local, endpoints }: ServiceView, usable: Candidates): Candidates | Not {
  const candidates = local ? among(endpoints.nodes, usable) : usable;
  if (candidates.size === 0) return { not: "noLocalEndpoints" };
  return endpoints.any ? candidates : { not: "noEndpoints" };
}

/** By preference, then by hash. */
export function sortCandidates(candidates: Candidates, address: string): string[] {
  return Array.from(candidates, ([name, preference]) => ({ name, preference, lot: candidateHash(name, address) }))
    .sort((a, b) => b.preference - a.preference || (a.lot < b.lot ? -1 : 1))
    .map(({ name }) => name);
}

/** Spreads addresses over nodes, equally on every node. */
export function candidateHash(node: string, address: string): string {
  return hash("sha256", `${node}#${address}`, "hex");
}

/** Undefined: on all of its interfaces. */
export function interfacesOn(node: NodeView, ads: readonly L2Ad[]): readonly string[] | undefined {
  const named = new Set<string>();
  for (const ad of ads) {
    if (!isForNode(ad, node)) continue;
    if (!ad.interfaces) return undefined;
    for (const name of ad.interfaces) named.add(name);
  }
  return [...named].sort();
}

function among(nodes: ReadonlySet<string>, usable: Candidates): Candidates {
  const candidates = new Map<string, number>();
  for (const name of nodes) {
    const preference = usable.get(name);
    if (preference !== undefined) candidates.set(name, preference);
  }
  return candidates;
}

function preferenceFor(node: NodeView, ads: readonly L2Ad[]): number {
  let sum = 0;
  for (const ad of ads) {
    if (!isForNode(ad, node)) continue;
    for (const { weight, selector } of ad.preferences) if (selects(selector, node.labels)) sum += weight;
  }
  return sum;
}
