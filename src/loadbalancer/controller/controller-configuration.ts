import type { Namespace } from "../../api/core/namespace.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { Community } from "../../api/metallb/community.ts";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { type LastGoodConfig, loadConfig, type Loaded } from "../config/load.ts";
import type { ReadThroughCache } from "../../kube/cache/read-through-cache.ts";
import { labeled } from "../config/objects.ts";

export interface ConfigurationViews {
  pools: ReadThroughCache<IPAddressPool>;
  communities: ReadThroughCache<Community>;
  namespaces: ReadThroughCache<Namespace>;
}

/** Pools and communities, each in the current or last good version. */
export class ControllerConfiguration {
  readonly #views: ConfigurationViews;
  #lastGood: LastGoodConfig = new Map();

  constructor(views: ConfigurationViews) {
    this.#views = views;
  }

  /** Read live, without the last good versions: since this replica last led, other leaders may have recorded newer ones. */
  async begin(signal: AbortSignal): Promise<Loaded> {
    await Promise.all(this.#all().map((view) => view.refresh(signal)));
    this.#lastGood = new Map();
    return this.load();
  }

  /** Whether the watches have caught up with the live read. */
  async isCaughtUp(signal: AbortSignal): Promise<boolean> {
    const unseen = this.#all().flatMap((view) => view.unseen.map((key) => view.verify(key, signal)));
    await Promise.all(unseen);
    return unseen.length === 0;
  }

  #all(): Pick<ReadThroughCache<KubeObject>, "refresh" | "unseen" | "verify">[] {
    return Object.values(this.#views);
  }

  load(): Loaded {
    const { pools, communities, namespaces } = this.#views;
    const loaded = loadConfig(
      {
        pools: pools.list(),
        communities: communities.list(),
        namespaces: labeled(namespaces.list()),
        peers: [],
        bfdProfiles: [],
        bgpAdvertisements: [],
        l2Advertisements: [],
        nodes: [],
        secret: () => undefined,
      },
      { view: { of: "controller" }, lastGood: this.#lastGood, now: new Date() },
    );
    this.#lastGood = loaded.lastGood;
    return loaded;
  }
}
