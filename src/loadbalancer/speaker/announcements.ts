import { isDeepStrictEqual } from "node:util";
import type { Address } from "../../ip/address.ts";
import { decideBgp } from "../announcement/bgp-decision.ts";
import type { Advertised } from "../announcement/decision.ts";
import { type ElectionInput, L2Elections } from "../announcement/l2-election.ts";
import { interfacesOn } from "../announcement/l2-decision.ts";
import { PoolIndex } from "../config/pool-index.ts";
import { isForService } from "../announcement/selection.ts";
import type { BgpAd, Config, L2Ad } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";

export interface L2Candidate {
  readonly addresses: readonly Address[];
  /** In election order, alive or not; includes this node. */
  readonly candidates: readonly string[];
  /** Undefined: all of this node. */
  readonly interfaces?: readonly string[];
}

export interface AnnouncementChange {
  readonly bgp: boolean;
  readonly l2: boolean;
}

export interface AffectedServices {
  readonly services: Iterable<string>;
  readonly what: "all" | "l2";
  /** Whether to report them even if the decision is the same. */
  readonly tell: "all" | "changed";
}

const SAME: AnnouncementChange = { bgp: false, l2: false };

/** One address for all Services that share it. */
export interface WantedAddress {
  readonly address: Address;
  readonly service: string;
  readonly interfaces?: readonly string[];
  readonly candidates: readonly string[];
}

/**
 * What this node announces of each Service. Each is decided by itself, and an unchanged decision keeps its identity, so that the drivers
 * detect changes by identity.
 */
export class Announcements {
  readonly #node: string;
  readonly #services = new Map<string, ServiceView>();
  readonly #bgp = new Map<string, readonly Advertised[]>();
  readonly #l2 = new Map<string, L2Candidate>();
  readonly #poolOf = new Map<string, string | undefined>();
  readonly #elections = new L2Elections();
  /** The input of elections; undefined: it has changed since the last one. */
  #input: ElectionInput | undefined;
  #config: Config | undefined;
  #pools = new PoolIndex([]);
  #nodes: ReadonlyMap<string, NodeView> = new Map();
  #live: ReadonlySet<string> | undefined;
  #hasNamesakes = false;

  constructor(node: string) {
    this.#node = node;
  }

  get bgp(): ReadonlyMap<string, readonly Advertised[]> {
    return this.#bgp;
  }

  get l2(): ReadonlyMap<string, L2Candidate> {
    return this.#l2;
  }

  get services(): ReadonlyMap<string, ServiceView> {
    return this.#services;
  }

  get config(): Config | undefined {
    return this.#config;
  }

  /** The nodes whose agents are alive; undefined while that is not known. */
  get live(): ReadonlySet<string> | undefined {
    return this.#live;
  }

  /** Undefined if nothing changed. */
  configure(config: Config): AffectedServices | undefined {
    const before = this.#config;
    if (before && isDeepStrictEqual(before, config)) return undefined;
    const next = before ? keepingEquals(before, config) : config;
    this.#config = next;
    this.#pools = new PoolIndex(next.pools.values());
    this.#input = undefined;
    const poolsBefore = new Map(this.#poolOf);
    for (const [key, service] of this.#services) this.#poolOf.set(key, this.#pools.poolOfAll(service.addresses)?.name);
    if (!before || next.peers !== before.peers) return { services: this.#services.keys(), what: "all", tell: "all" };
    const ads = [...differing<BgpAd | L2Ad>(before.bgpAds, next.bgpAds), ...differing<BgpAd | L2Ad>(before.l2Ads, next.l2Ads)];
    const isConcerned = ([key, service]: [string, ServiceView]) => {
      const pool = this.#poolOf.get(key);
      return pool !== poolsBefore.get(key) || (pool !== undefined && ads.some((ad) => ad.pools.has(pool) && isForService(ad, service)));
    };
    return { services: [...this.#services].filter(isConcerned).map(([key]) => key), what: "all", tell: "changed" };
  }

  /** Undefined if nothing changed. */
  setNodes(nodes: ReadonlyMap<string, NodeView>): AffectedServices | undefined {
    if (isDeepStrictEqual(this.#nodes, nodes)) return undefined;
    const isSelfOther = !isDeepStrictEqual(this.#nodes.get(this.#node), nodes.get(this.#node));
    const hadNamesakes = this.#hasNamesakes;
    this.#nodes = nodes;
    this.#hasNamesakes = nodes.keys().some((name) => name.endsWith(`-${this.#node}`) || this.#node.endsWith(`-${name}`));
    this.#input = undefined;
    const services = this.#services.keys();
    // Other nodes may make report names ambiguous.
    return isSelfOther || hadNamesakes || this.#hasNamesakes
      ? { services, what: "all", tell: "all" }
      : { services, what: "l2", tell: "changed" };
  }

  /** Undefined if nothing changed. */
  members(live: ReadonlySet<string>): AffectedServices | undefined {
    const before = this.#live;
    if (before?.symmetricDifference(live).size === 0) return undefined;
    this.#live = live;
    this.#input = undefined;
    return { services: this.#services.keys(), what: "l2", tell: before ? "changed" : "all" };
  }

  /** Services whose reports could have the same name: `web` on node `a-b`, and `web-a` on node `b`. */
  kin(key: string): string[] {
    if (!this.#hasNamesakes) return [];
    return [...this.#services.keys()].filter((other) => other.startsWith(`${key}-`) || key.startsWith(`${other}-`));
  }

  put(key: string, service: ServiceView | undefined): void {
    if (service) {
      this.#services.set(key, service);
      this.#poolOf.set(key, this.#pools.poolOfAll(service.addresses)?.name);
    } else {
      this.#services.delete(key);
      this.#poolOf.delete(key);
      this.#elections.forget(key);
    }
  }

  decide(key: string, what: AffectedServices["what"] = "all"): AnnouncementChange {
    const service = this.#services.get(key);
    const self = this.#nodes.get(this.#node);
    const config = this.#config;
    if (!service) return { bgp: this.#bgp.delete(key), l2: this.#l2.delete(key) };
    // Without this information nothing is withdrawn.
    if (!config || !self) return SAME;
    const l2 = this.#live !== undefined && replace(this.#l2, key, this.#candidate(service, self, config, this.#live));
    if (what === "l2") return { bgp: false, l2 };
    const bgp = decideBgp(service, self, config, this.#pools);
    return { bgp: replace(this.#bgp, key, "announce" in bgp ? bgp.announce : undefined), l2 };
  }

  #candidate(service: ServiceView, self: NodeView, config: Config, live: ReadonlySet<string>): L2Candidate | undefined {
    if (config.l2Ads.size === 0) return undefined;
    this.#input ??= { nodes: this.#nodes.values().toArray(), config, pools: this.#pools, isAlive: (node) => live.has(node) };
    const election = this.#elections.hold(service, this.#input);
    if ("not" in election || !election.order.includes(self.name)) return undefined;
    const interfaces = interfacesOn(self, election.ads);
    return { addresses: service.addresses, candidates: election.order, ...(interfaces && { interfaces }) };
  }

  /** What this node announces or would take over, each address once. */
  *addresses(): Generator<WantedAddress> {
    const byAddress = new Map<string, WantedAddress>();
    for (const [service, { addresses, candidates, interfaces }] of this.#l2) {
      for (const address of addresses) {
        const known = byAddress.get(address.toString());
        const wanted = { address, service: known?.service ?? service, candidates: known?.candidates ?? candidates };
        // Services that share an address share its interfaces.
        const both = known ? (known.interfaces && interfaces ? [...known.interfaces, ...interfaces] : undefined) : interfaces;
        byAddress.set(address.toString(), both ? { ...wanted, interfaces: [...new Set(both)].sort() } : wanted);
      }
    }
    yield* byAddress.values();
  }
}

function replace<T>(map: Map<string, T>, key: string, next: T | undefined): boolean {
  const before = map.get(key);
  if (next === undefined) return map.delete(key);
  if (before !== undefined && isDeepStrictEqual(before, next)) return false;
  map.set(key, next);
  return true;
}

/** Unchanged parts keep their identity. */
function keepingEquals(before: Config, next: Config): Config {
  return {
    ...next,
    peers: isDeepStrictEqual(before.peers, next.peers) ? before.peers : next.peers,
    bgpAds: withEquals(before.bgpAds, next.bgpAds),
    l2Ads: withEquals(before.l2Ads, next.l2Ads),
  };
}

function withEquals<T>(before: ReadonlyMap<string, T>, next: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
  return new Map(
    Array.from(next, ([name, one]) => {
      const known = before.get(name);
      return [name, known && isDeepStrictEqual(known, one) ? known : one];
    }),
  );
}

/** What differs, in both versions. */
function differing<T>(before: ReadonlyMap<string, T>, next: ReadonlyMap<string, T>): T[] {
  const others = (some: ReadonlyMap<string, T>, than: ReadonlyMap<string, T>) => [...some].filter(([name, one]) => than.get(name) !== one);
  return [...others(before, next), ...others(next, before)].map(([, one]) => one);
}
