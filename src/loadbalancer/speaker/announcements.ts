import { isDeepStrictEqual } from "node:util";
import type { Address } from "../../ip/address.ts";
import { decideBgp } from "../announce/bgp.ts";
import type { Advertised } from "../announce/decision.ts";
import { decideL2 } from "../announce/l2.ts";
import { PoolIndex } from "../announce/pools.ts";
import type { Config } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";

/** The addresses of a Service that this node may come to answer for. */
export interface Candidacy {
  readonly addresses: readonly Address[];
  /** In the order in which they would take over, dead or alive; this node is among them. */
  readonly candidates: readonly string[];
  /** Of this node; undefined: all. */
  readonly interfaces?: readonly string[];
}

/** What of a decision is other than before. */
export interface Change {
  readonly bgp: boolean;
  readonly l2: boolean;
}

const SAME: Change = { bgp: false, l2: false };

/** One address as L2 is to hold it, for all the Services that share it. */
export interface WantedAddress {
  readonly address: Address;
  readonly service: string;
  readonly interfaces?: readonly string[];
  readonly candidates: readonly string[];
}

/**
 * What this node announces of each Service. Services are decided one by one: a change of one costs no other anything, and what is decided as before keeps
 * its identity, so that whoever carries it out sees at a glance what is new.
 */
export class Announcements {
  readonly #node: string;
  readonly #services = new Map<string, ServiceView>();
  readonly #bgp = new Map<string, readonly Advertised[]>();
  readonly #l2 = new Map<string, Candidacy>();
  #config: Config | undefined;
  #pools = new PoolIndex([]);
  #nodes: ReadonlyMap<string, NodeView> = new Map();
  #hasNamesakes = false;

  constructor(node: string) {
    this.#node = node;
  }

  /** By Service, what goes out over BGP from here. */
  get bgp(): ReadonlyMap<string, readonly Advertised[]> {
    return this.#bgp;
  }

  /** By Service. */
  get l2(): ReadonlyMap<string, Candidacy> {
    return this.#l2;
  }

  get services(): ReadonlyMap<string, ServiceView> {
    return this.#services;
  }

  get config(): Config | undefined {
    return this.#config;
  }

  /** Whether anything in it is other than before; then every Service has to be decided anew. */
  configure(config: Config): boolean {
    if (this.#config && isDeepStrictEqual(this.#config, config)) return false;
    this.#config = config;
    this.#pools = new PoolIndex(config.pools.values());
    return true;
  }

  /** Whether any node is other than before. */
  place(nodes: ReadonlyMap<string, NodeView>): boolean {
    if (isDeepStrictEqual(this.#nodes, nodes)) return false;
    this.#nodes = nodes;
    this.#hasNamesakes = nodes.keys().some((name) => name.endsWith(`-${this.#node}`) || this.#node.endsWith(`-${name}`));
    return true;
  }

  /** Those Services whose reports could be called the same as this one's: `web` on node `a-b`, and `web-a` on node `b`. */
  kin(key: string): string[] {
    if (!this.#hasNamesakes) return [];
    return [...this.#services.keys()].filter((other) => other.startsWith(`${key}-`) || key.startsWith(`${other}-`));
  }

  /** The Service as it is now; undefined: it is gone, or none of ours. */
  put(key: string, service: ServiceView | undefined): void {
    if (service) this.#services.set(key, service);
    else this.#services.delete(key);
  }

  /** `live` are the nodes whose agents are alive; undefined while that is not known. */
  decide(key: string, live: ReadonlySet<string> | undefined): Change {
    const service = this.#services.get(key);
    const self = this.#nodes.get(this.#node);
    const config = this.#config;
    if (!service) return { bgp: this.#bgp.delete(key), l2: this.#l2.delete(key) };
    // Not yet known is no reason to let go of anything.
    if (!config || !self) return SAME;
    const bgp = decideBgp(service, self, config, this.#pools);
    return {
      bgp: replace(this.#bgp, key, "announce" in bgp ? bgp.announce : undefined),
      l2: live !== undefined && replace(this.#l2, key, this.#candidacy(service, self, config, live)),
    };
  }

  #candidacy(service: ServiceView, self: NodeView, config: Config, live: ReadonlySet<string>): Candidacy | undefined {
    if (config.l2Ads.size === 0) return undefined;
    const isMember = (node: string) => live.has(node);
    const decision = decideL2(service, this.#nodes.values(), config, this.#pools, isMember);
    if (!("node" in decision) || !decision.candidates.includes(self.name)) return undefined;
    // Which interfaces are selected may differ from node to node.
    const own = decision.node === self.name ? decision : decideL2(service, [self], config, this.#pools, isMember);
    const { addresses, candidates } = decision;
    return { addresses, candidates, ...("node" in own && own.interfaces && { interfaces: own.interfaces }) };
  }

  /** What this node holds or would take over, each address once. */
  *addresses(): Generator<WantedAddress> {
    const seen = new Map<string, WantedAddress>();
    for (const [service, { addresses, candidates, interfaces }] of this.#l2) {
      for (const address of addresses) {
        const known = seen.get(address.toString());
        const wanted = { address, service: known?.service ?? service, candidates: known?.candidates ?? candidates };
        // Who shares an address shares its interfaces: one that is on all of them is on all of them for both.
        const both = known ? (known.interfaces && interfaces ? [...known.interfaces, ...interfaces] : undefined) : interfaces;
        seen.set(address.toString(), both ? { ...wanted, interfaces: [...new Set(both)].sort() } : wanted);
      }
    }
    yield* seen.values();
  }
}

function replace<T>(map: Map<string, T>, key: string, next: T | undefined): boolean {
  const before = map.get(key);
  if (next === undefined) return map.delete(key);
  if (before !== undefined && isDeepStrictEqual(before, next)) return false;
  map.set(key, next);
  return true;
}
