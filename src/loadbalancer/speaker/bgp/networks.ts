import type { ConfigLine, Fragment } from "../../../frr/fragment.ts";
import type { Advertised } from "../../announce/decision.ts";
import type { Config, Peer } from "../../config/config.ts";
import type { Classes, PrefixClass } from "./classes.ts";
import { mergeContributions } from "./contributions.ts";
import { addressFamily, instanceOf, outMapOf, type FamilyName } from "./instances.ts";

/** A Service's lines, and the classes that they name. */
export interface ServiceLines {
  readonly fragment: Fragment;
  readonly classes: readonly string[];
}

export interface Networks {
  /** By owner; only those of which anyone hears. */
  readonly services: ReadonlyMap<string, ServiceLines>;
  readonly classes: ReadonlyMap<string, { readonly fragment: Fragment; readonly advertisements: ReadonlySet<string> }>;
  /** By advertisement: why something of it is left out. */
  readonly refused: ReadonlyMap<string, readonly string[]>;
}

/** Where a prefix stands: in which instance, in which class. */
interface Place {
  readonly instance: string;
  readonly family: FamilyName;
  readonly class: PrefixClass;
}

interface Contribution {
  readonly service: string;
  readonly advertised: Advertised;
}

/**
 * The prefixes of all Services. Most of ten thousand are announced in the same few ways: each way is worked out once. What a Service had `before` is taken as it
 * is where nothing of it has changed.
 */
export function networksOf(
  services: ReadonlyMap<string, readonly Advertised[]>,
  peers: Config["peers"],
  known: Classes,
  before: ReadonlyMap<string, ServiceLines>,
): Networks {
  const instances = [...Map.groupBy(peers.values(), instanceOf)];
  const classes = new Map<string, { fragment: Fragment; advertisements: Set<string> }>();
  const refused = new Map<string, string[]>();
  const offers = new Offers();
  const ways = new Map<string, readonly Place[]>();

  const placesOf = (contributions: readonly Contribution[]): readonly Place[] => {
    const list = contributions.length === 1 ? contributions : contributions.toSorted(byService);
    const [{ advertised: first }] = list as [Contribution];
    const family = first.prefix.first.family === 4 ? "IPv4" : "IPv6";
    const way = list.reduce((way, { advertised }) => `${way} ${offers.idOf(advertised)}`, family as string);
    let places = ways.get(way);
    if (!places) {
      places = place(
        list.map(({ advertised }) => advertised),
        family,
      );
      ways.set(way, places);
    }
    return places;
  };

  const place = (list: readonly Advertised[], family: FamilyName): Place[] =>
    instances.flatMap(([instance, peers]: [string, Peer[]]) => {
      const merged = mergeContributions(list, peers);
      for (const { advertisement, why } of merged.refused) refused.set(advertisement, [...(refused.get(advertisement) ?? []), why]);
      if (merged.heard.size === 0) return [];
      const found = known.of(Array.from(merged.heard, ([peer, attributes]) => ({ outMap: outMapOf(peer), attributes })));
      const entry = classes.get(found.owner) ?? { fragment: found.fragment, advertisements: new Set() };
      for (const { advertisement } of list) entry.advertisements.add(advertisement);
      classes.set(found.owner, entry);
      return [{ instance, family, class: found }];
    });

  const contributions = new Map<string, Contribution[]>();
  const prefixes = new Map<string, Set<string>>();
  for (const [key, advertised] of services) {
    const own = new Set<string>();
    for (const one of advertised) {
      const text = one.prefix.toString();
      const list = contributions.get(text);
      if (list) list.push({ service: key, advertised: one });
      else contributions.set(text, [{ service: key, advertised: one }]);
      own.add(text);
    }
    prefixes.set(key, own);
  }

  const found = new Map<string, ServiceLines>();
  for (const [key, own] of prefixes) {
    const owner = `Service/${key}`;
    const lines = linesOf(owner, own, (prefix) => placesOf(contributions.get(prefix) ?? []), before.get(owner));
    if (lines) found.set(owner, lines);
  }
  return { services: found, classes, refused };
}

function linesOf(
  owner: string,
  prefixes: ReadonlySet<string>,
  placesOf: (prefix: string) => readonly Place[],
  before: ServiceLines | undefined,
): ServiceLines | undefined {
  const instances = new Map<string, Map<FamilyName, ConfigLine[]>>();
  const classes = new Set<string>();
  for (const prefix of prefixes) {
    for (const { instance, family, class: of } of placesOf(prefix)) {
      const families = instances.get(instance) ?? new Map<FamilyName, ConfigLine[]>();
      const line = { line: `network ${prefix} route-map ${of.map}` };
      const lines = families.get(family);
      if (lines) lines.push(line);
      else families.set(family, [line]);
      instances.set(instance, families);
      classes.add(of.owner);
    }
  }
  if (instances.size === 0) return undefined;
  const lines = Array.from(instances, ([line, families]) => ({
    line,
    inside: Array.from(families, ([family, inside]) => ({ line: addressFamily(family), inside })),
  }));
  return before && areSame(before.fragment.lines, lines) ? before : { fragment: { owner, lines }, classes: [...classes] };
}

function areSame(these: readonly ConfigLine[], those: readonly ConfigLine[]): boolean {
  return (
    these.length === those.length &&
    these.every(({ line, inside = [] }, at) => line === those[at]?.line && areSame(inside, those[at].inside ?? []))
  );
}

/** Numbers for ways to announce. Advertisements give the same lists to all their prefixes, so that lists need not be compared word by word. */
class Offers {
  readonly #known = new Map<readonly string[], { readonly offer: Advertised; readonly id: number }[]>();
  #last = 0;

  idOf(advertised: Advertised): number {
    const alike = this.#known.get(advertised.communities) ?? [];
    const found = alike.find(
      ({ offer }) =>
        offer.advertisement === advertised.advertisement && offer.localPref === advertised.localPref && offer.peers === advertised.peers,
    );
    if (found) return found.id;
    this.#last += 1;
    this.#known.set(advertised.communities, [...alike, { offer: advertised, id: this.#last }]);
    return this.#last;
  }
}

function byService(a: Contribution, b: Contribution): number {
  if (a.service !== b.service) return a.service < b.service ? -1 : 1;
  return a.advertised.advertisement < b.advertised.advertisement ? -1 : 1;
}
