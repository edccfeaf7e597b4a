import { isDeepStrictEqual } from "node:util";
import type { Service } from "../../api/core/service.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import type { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import type { Cache, Change } from "../../kube/cache/cache.ts";
import { type AnnouncedServices, isAnnounced } from "./announced-targets.ts";

export interface AnnouncedCaches {
  /** Of the whole cluster, as the load balancer reads them. */
  readonly services: Cache<Service>;
  readonly reports: Cache<ServiceBGPStatus>;
}

interface Announcement {
  readonly node: string;
  readonly families: readonly string[];
}

/** Which nodes announce which Services. There is a report for each Service and node, so it follows them only while a mesh needs it. */
export class AnnouncerIndex implements AnnouncedServices {
  readonly #caches: AnnouncedCaches;
  readonly #onChange: () => void;
  /** By Service and report. */
  readonly #announcements = new Map<string, Map<string, Announcement>>();
  /** By Service and family, as last asked for: a plan asks for each address of thousands of Services. */
  readonly #sorted = new Map<string, readonly string[]>();
  #unsubscribe: (() => void) | undefined;

  constructor(caches: AnnouncedCaches, onChange: () => void) {
    this.#caches = caches;
    this.#onChange = onChange;
  }

  follow(isUsed: boolean): void {
    if (isUsed === (this.#unsubscribe !== undefined)) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#announcements.clear();
    this.#sorted.clear();
    if (!isUsed) return;
    const ends = [
      this.#caches.services.subscribe((change) => {
        if (serviceChanged(change)) this.#onChange();
      }),
      this.#caches.reports.subscribe((change) => this.#take(change)),
    ];
    this.#unsubscribe = () => {
      for (const end of ends) end();
    };
  }

  services(): readonly Service[] {
    return this.#caches.services.list();
  }

  service(key: string): Service | undefined {
    return this.#caches.services.get(key);
  }

  announcers(key: string, family: 4 | 6): readonly string[] {
    const known = this.#sorted.get(`${family} ${key}`);
    if (known) return known;
    const announcements = [...(this.#announcements.get(key)?.values() ?? [])];
    // Earlier agents report no families.
    const ofFamily = announcements.filter(({ families }) => families.length === 0 || families.includes(`IPv${family}`));
    const nodes = ofFamily.map(({ node }) => node).toSorted();
    if (announcements.length > 0) this.#sorted.set(`${family} ${key}`, nodes);
    return nodes;
  }

  #take(change: Change<ServiceBGPStatus>): void {
    const { type, object } = change;
    const { node, service, bgpPeers = [], families = [] } = object.status ?? {};
    if (node === undefined || service === undefined) return;
    const key = `${object.metadata.namespace}/${service}`;
    const known = this.#announcements.get(key) ?? new Map<string, Announcement>();
    const before = known.get(object.metadata.name);
    const after = type === "deleted" || bgpPeers.length === 0 ? undefined : { node, families: families.map(({ family }) => family) };
    if (isDeepStrictEqual(before, after)) return;
    for (const family of [4, 6]) this.#sorted.delete(`${family} ${key}`);
    if (after) known.set(object.metadata.name, after);
    else known.delete(object.metadata.name);
    if (known.size > 0) this.#announcements.set(key, known);
    else this.#announcements.delete(key);
    if (!isKnown(change)) this.#onChange();
  }
}

/** Who follows reads it anyway. */
function isKnown(change: Change<KubeObject>): boolean {
  return change.type === "added" && change.initial;
}

/** A Service that is not a load balancer's never matters. */
function serviceChanged(change: Change<Service>): boolean {
  const { object } = change;
  if (isKnown(change)) return false;
  if (change.type !== "updated") return object.spec.type === "LoadBalancer";
  return !isDeepStrictEqual(readOf(change.old), readOf(object));
}

function readOf(service: Service): unknown[] {
  const { type, ports, loadBalancerSourceRanges } = service.spec;
  if (type !== "LoadBalancer") return [keyOf(service)];
  const { labels, annotations } = service.metadata;
  return [labels, annotations, type, ports, loadBalancerSourceRanges, service.status?.loadBalancer, isAnnounced(service)];
}
