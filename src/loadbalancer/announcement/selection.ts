import { selects, type LabelSelector } from "../../api/core/label-selector.ts";
import type { BgpAd, L2Ad } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";

type Ad = BgpAd | L2Ad;

const byPool = new WeakMap<ReadonlyMap<string, Ad>, ReadonlyMap<string, readonly Ad[]>>();

export function adsOf<A extends Ad>(ads: ReadonlyMap<string, A>, pool: string): readonly A[] {
  let covering = byPool.get(ads) as ReadonlyMap<string, readonly A[]> | undefined;
  if (!covering) {
    covering = coverage(ads.values());
    byPool.set(ads, covering);
  }
  return covering.get(pool) ?? [];
}

export function isForNode({ nodeSelectors }: Pick<Ad, "nodeSelectors">, { labels }: NodeView): boolean {
  return selectsAny(nodeSelectors, labels);
}

export function isForService({ serviceSelectors }: Ad, { labels }: ServiceView): boolean {
  return selectsAny(serviceSelectors, labels);
}

function selectsAny(selectors: readonly LabelSelector[], labels: Readonly<Record<string, string>>): boolean {
  return selectors.length === 0 || selectors.some((selector) => selects(selector, labels));
}

function coverage<A extends Ad>(ads: Iterable<A>): ReadonlyMap<string, readonly A[]> {
  const covering = new Map<string, A[]>();
  for (const ad of [...ads].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    for (const pool of ad.pools) {
      const list = covering.get(pool);
      if (list) list.push(ad);
      else covering.set(pool, [ad]);
    }
  }
  return covering;
}
