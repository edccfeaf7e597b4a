import { isDeepStrictEqual } from "node:util";
import type { ConfigLine, Fragment } from "../../../frr/fragment.ts";
import { compare } from "../../../util/compare.ts";
import type { Advertised } from "../../announcement/decision.ts";
import type { Config, Peer } from "../../config/config.ts";
import { contextLines, type ContextLines } from "./boot-text.ts";
import { PrefixClasses, type PrefixClass } from "./prefix-classes.ts";
import { mergeContributions, type Merged } from "./contributions.ts";
import type { OmittedPrefix } from "./rejected.ts";
import type { WantedPrefixes } from "./sent-prefixes.ts";
import { sessionKeyOf } from "./sessions.ts";
import { addressFamily, instanceOf, outMapOf, type FamilyName } from "./render.ts";

/** The lines of a Service for FRR and the boot file, the resulting routes, and the classes they use. */
export interface ServiceLines {
  readonly fragment: Fragment;
  readonly routes: readonly PrefixRoute[];
  readonly classes: readonly string[];
  readonly boot: readonly ContextLines[];
}

export interface PrefixRoute {
  /** "" is the main one. */
  readonly vrf: string;
  readonly prefix: string;
}

/** A combination of peers and attributes; there are few. */
interface Way {
  readonly key: string;
  readonly instances: readonly {
    readonly instance: string;
    readonly vrf: string;
    readonly family: FamilyName;
    readonly class: PrefixClass;
  }[];
  readonly advertisements: readonly string[];
  /** Who is to be sent these prefixes. */
  readonly peers: readonly Peer[];
  readonly rejected: Merged["rejected"];
  prefixes: number;
}

interface Contribution {
  readonly service: string;
  readonly advertised: Advertised;
}

/** Above this number the cache is dropped and built again. */
const MOST_OFFERS = 1_000;

/** Computes only what has changed since the last call. */
export class ServicePrefixes {
  readonly #services = new Map<string, readonly Advertised[]>();
  readonly #contributions = new Map<string, Contribution[]>();
  readonly #lines = new Map<string, ServiceLines>();
  readonly #wayOf = new Map<string, Way>();
  readonly #ways = new Map<string, Way>();
  #offers = new Offers();
  #peers: readonly Peer[] = [];
  #classes = new PrefixClasses([]);

  /** By owner; only those with a receiving peer. */
  get services(): ReadonlyMap<string, ServiceLines> {
    return this.#lines;
  }

  get classes(): ReadonlyMap<string, { readonly fragment: Fragment; readonly advertisements: ReadonlySet<string> }> {
    const classes = new Map<string, { fragment: Fragment; advertisements: Set<string> }>();
    for (const { instances, advertisements } of this.#ways.values()) {
      for (const { class: of } of instances) {
        const known = classes.get(of.owner) ?? { fragment: of.fragment, advertisements: new Set() };
        for (const name of advertisements) known.advertisements.add(name);
        classes.set(of.owner, known);
      }
    }
    return classes;
  }

  /** The expected tag of a prefix in FRR; undefined if it is not announced. */
  tagOf({ vrf, prefix }: PrefixRoute): number | undefined {
    return this.#wayOf.get(prefix)?.instances.find((instance) => instance.vrf === vrf)?.class.tag;
  }

  /** By session: the prefixes that it should send. */
  get wanted(): WantedPrefixes {
    const wanted = new Map<string, Record<FamilyName, string[]>>();
    for (const [prefix, { peers }] of this.#wayOf) {
      for (const peer of peers) {
        const key = sessionKeyOf(peer);
        const lists = wanted.get(key) ?? { IPv4: [], IPv6: [] };
        lists[prefix.includes(":") ? "IPv6" : "IPv4"].push(prefix);
        wanted.set(key, lists);
      }
    }
    return wanted;
  }

  /** By advertisement: why a part of it is left out. */
  get rejected(): ReadonlyMap<string, readonly string[]> {
    const rejected = new Map<string, string[]>();
    for (const way of this.#ways.values()) {
      for (const { advertisement, why } of way.rejected) rejected.set(advertisement, [...(rejected.get(advertisement) ?? []), why]);
    }
    return rejected;
  }

  /** By Service: what is left out of it. */
  get leftOut(): ReadonlyMap<string, readonly OmittedPrefix[]> {
    const found = new Map<string, OmittedPrefix[]>();
    if (this.#ways.values().every(({ rejected }) => rejected.length === 0)) return found;
    for (const [prefix, contributions] of this.#contributions) {
      for (const { advertisement, peers } of this.#wayOf.get(prefix)?.rejected ?? []) {
        const services = contributions.filter(({ advertised }) => advertised.advertisement === advertisement).map(({ service }) => service);
        for (const service of services) found.set(service, [...(found.get(service) ?? []), { advertisement, prefix, peers }]);
      }
    }
    return found;
  }

  /** Returns the owners whose lines changed. `applied`: the classes in FRR, which keep their tags. */
  follow(services: ReadonlyMap<string, readonly Advertised[]>, peers: Config["peers"], applied: Iterable<Fragment>): string[] {
    const others = [...peers.values()];
    if (this.#offers.count > MOST_OFFERS || !isDeepStrictEqual(others, this.#peers)) this.#remove(others);
    this.#classes = new PrefixClasses([...applied, ...Array.from(this.classes.values(), ({ fragment }) => fragment)]);

    const changed = new Set<string>();
    const prefixes = new Set<string>();
    for (const [key, advertised] of services) {
      if (this.#services.get(key) !== advertised) this.#replace(key, advertised, changed, prefixes);
    }
    if (this.#services.size > services.size) {
      for (const key of this.#services.keys()) if (!services.has(key)) this.#replace(key, undefined, changed, prefixes);
    }
    for (const prefix of prefixes) {
      this.#findWay(prefix);
      for (const { service } of this.#contributions.get(prefix) ?? []) changed.add(service);
    }
    return [...changed].map((key) => `Service/${key}`).filter((owner) => this.#isOther(owner));
  }

  #remove(peers: readonly Peer[]): void {
    this.#peers = peers;
    this.#services.clear();
    this.#contributions.clear();
    this.#wayOf.clear();
    this.#ways.clear();
    this.#offers = new Offers();
    // The lines stay, to detect unchanged ones, except for removed Services.
    for (const owner of this.#lines.keys()) this.#services.set(owner.slice("Service/".length), []);
  }

  #replace(key: string, advertised: readonly Advertised[] | undefined, changed: Set<string>, prefixes: Set<string>): void {
    for (const { prefix } of this.#services.get(key) ?? []) {
      const text = prefix.toString();
      const others = this.#contributions.get(text)?.filter(({ service }) => service !== key) ?? [];
      if (others.length > 0) this.#contributions.set(text, others);
      else this.#contributions.delete(text);
      prefixes.add(text);
    }
    for (const one of advertised ?? []) {
      const text = one.prefix.toString();
      const list = this.#contributions.get(text);
      if (list) list.push({ service: key, advertised: one });
      else this.#contributions.set(text, [{ service: key, advertised: one }]);
      prefixes.add(text);
    }
    if (advertised) this.#services.set(key, advertised);
    else this.#services.delete(key);
    changed.add(key);
  }

  #findWay(prefix: string): void {
    const before = this.#wayOf.get(prefix);
    const contributions = this.#contributions.get(prefix);
    const way = contributions && this.#wayFor(contributions);
    if (way) {
      way.prefixes += 1;
      this.#wayOf.set(prefix, way);
    } else {
      this.#wayOf.delete(prefix);
    }
    if (!before) return;
    before.prefixes -= 1;
    if (before.prefixes === 0) this.#ways.delete(before.key);
  }

  #wayFor(contributions: readonly Contribution[]): Way {
    const list = (contributions.length === 1 ? contributions : contributions.toSorted(byAdvertisementAge)).map(
      ({ advertised }) => advertised,
    );
    const family = list[0]?.prefix.first.family === 6 ? "IPv6" : "IPv4";
    const key = list.reduce((key, advertised) => `${key} ${this.#offers.idOf(advertised)}`, family as string);
    let way = this.#ways.get(key);
    if (!way) {
      way = this.#newWay(key, list, family);
      this.#ways.set(key, way);
    }
    return way;
  }

  #newWay(key: string, list: readonly Advertised[], family: FamilyName): Way {
    const instances: Way["instances"][number][] = [];
    const rejected: Merged["rejected"][number][] = [];
    const heardBy: Peer[] = [];
    for (const [instance, peers] of Map.groupBy(this.#peers, instanceOf)) {
      const merged = mergeContributions(list, peers);
      rejected.push(...merged.rejected);
      heardBy.push(...merged.heard.keys());
      const listeners = Array.from(merged.heard, ([peer, attributes]) => ({ outMap: outMapOf(peer), attributes }));
      if (listeners.length > 0) instances.push({ instance, vrf: peers[0]?.vrf ?? "", family, class: this.#classes.of(listeners) });
    }
    const advertisements = list.map(({ advertisement }) => advertisement);
    return { key, instances, advertisements, peers: heardBy, rejected, prefixes: 0 };
  }

  #isOther(owner: string): boolean {
    const before = this.#lines.get(owner);
    const advertised = this.#services.get(owner.slice("Service/".length));
    const lines = this.#linesOf(owner, new Set(advertised?.map(({ prefix }) => prefix.toString())));
    if (lines) this.#lines.set(owner, lines);
    else this.#lines.delete(owner);
    return lines !== before;
  }

  #linesOf(owner: string, prefixes: ReadonlySet<string>): ServiceLines | undefined {
    const instances = new Map<string, Map<FamilyName, ConfigLine[]>>();
    const classes = new Set<string>();
    const routes: PrefixRoute[] = [];
    for (const prefix of prefixes) {
      for (const { instance, vrf, family, class: of } of this.#wayOf.get(prefix)?.instances ?? []) {
        const families = instances.get(instance) ?? new Map<FamilyName, ConfigLine[]>();
        families.set(family, [...(families.get(family) ?? []), { line: `network ${prefix} route-map ${of.map}` }]);
        instances.set(instance, families);
        classes.add(of.owner);
        routes.push({ vrf, prefix });
      }
    }
    if (instances.size === 0) return undefined;
    const lines = Array.from(instances, ([line, families]) => ({
      line,
      inside: Array.from(families, ([family, inside]) => ({ line: addressFamily(family), inside })),
    }));
    const before = this.#lines.get(owner);
    return before && isDeepStrictEqual(before.fragment.lines, lines)
      ? before
      : { fragment: { owner, lines }, routes, classes: [...classes], boot: contextLines(lines) };
  }
}

/** Numbers the attribute sets of advertisements. All prefixes of one share its lists, so that lists are compared by identity. */
class Offers {
  readonly #known = new Map<readonly string[], { readonly offer: Advertised; readonly id: number }[]>();
  count = 0;

  idOf(advertised: Advertised): number {
    const alike = this.#known.get(advertised.communities) ?? [];
    const found = alike.find(
      ({ offer }) =>
        offer.advertisement === advertised.advertisement && offer.localPref === advertised.localPref && offer.peers === advertised.peers,
    );
    if (found) return found.id;
    this.count += 1;
    this.#known.set(advertised.communities, [...alike, { offer: advertised, id: this.count }]);
    return this.count;
  }
}

/** By age, then by the names of advertisements and Services. */
function byAdvertisementAge(a: Contribution, b: Contribution): number {
  const [one, other] = [a.advertised, b.advertised];
  return compare(one.created, other.created) || compare(one.advertisement, other.advertisement) || compare(a.service, b.service);
}
