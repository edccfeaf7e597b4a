import type { Kind, KubeObject } from "../../api/kind.ts";
import { NamespacedCaches } from "../../kube/cache/namespaced-caches.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { compareResourceVersions } from "../../kube/client/resource-version.ts";
import type { Log } from "../../kube/log.ts";
import { leanOf } from "./transforms.ts";
import type { NeededKind, Needs } from "./watched-kinds.ts";
import type { Look } from "./observed.ts";
import type { ServedKinds } from "./served-kinds.ts";
import { type Sight, servedKind } from "./reader.ts";

export interface CachedSightOptions {
  client: KubeClient;
  served: ServedKinds;
  log: Log;
  onChange: (kind: NeededKind, namespace: string, name: string) => void;
}

/** An object as it was after a write of ours. */
export interface Written {
  readonly kind: NeededKind;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
}

/** How long the first read of a namespace may take before it is looked at without the caches. */
const FIRST_READ_MS = 3_000;

/** What policies speak of, followed by watches: to wait and to rest costs no request. */
export class CachedSight implements Sight {
  readonly #options: CachedSightOptions;
  readonly #caches = new Map<NeededKind, { kind: Kind; caches: NamespacedCaches<KubeObject> }>();

  constructor(options: CachedSightOptions) {
    this.#options = options;
  }

  /** From now on what these need, and nothing else. */
  follow(all: Iterable<Needs>): void {
    const wanted = new Map<NeededKind, Set<string>>();
    for (const needs of all) {
      for (const [kind, places] of needs) {
        const namespaces = wanted.get(kind) ?? new Set();
        wanted.set(kind, namespaces);
        for (const namespace of places.keys()) namespaces.add(namespace);
      }
    }
    for (const [kind, { caches }] of this.#caches) if (!wanted.has(kind)) caches.keep(new Set());
    for (const [kind, namespaces] of wanted) this.#cachesOf(kind)?.keep(namespaces);
  }

  /** Until what is needed has been read, if that can be done in a while. */
  async settle(needs: Needs, signal: AbortSignal): Promise<void> {
    const settle = async (kind: NeededKind, namespace: string) => this.#caches.get(kind)?.caches.settle(namespace, FIRST_READ_MS, signal);
    await Promise.all(placesIn(needs).map(([kind, namespace]) => settle(kind, namespace)));
  }

  /** Whether all of it can be told without a request. */
  isWhole(needs: Needs): boolean {
    return placesIn(needs).every(([kind, namespace]) => {
      const version = servedKind(kind, this.#options.served);
      return "found" in version ? this.#caches.get(kind)?.caches.isWhole(namespace) === true : "absent" in version;
    });
  }

  /** Whether the watches have come as far as our own writes. */
  hasSeen(written: readonly Written[]): boolean {
    return written.every(({ kind, namespace, name, resourceVersion }) => {
      const held = this.#caches.get(kind)?.caches.get(`${namespace}/${name}`);
      return held !== undefined && compareResourceVersions(held.metadata.resourceVersion ?? "0", resourceVersion) >= 0;
    });
  }

  object(kind: NeededKind, namespace: string, name: string): Look<KubeObject> {
    const version = servedKind(kind, this.#options.served);
    if (!("found" in version)) return version;
    const object = this.#caches.get(kind)?.caches.get(`${namespace}/${name}`);
    return object ? { found: object } : { absent: "object" };
  }

  all(kind: NeededKind, namespace: string): Look<readonly KubeObject[]> {
    const version = servedKind(kind, this.#options.served);
    return "found" in version ? { found: this.#caches.get(kind)?.caches.list(namespace) ?? [] } : version;
  }

  stop(): void {
    for (const { caches } of this.#caches.values()) caches.stop();
    this.#caches.clear();
  }

  /** None while the cluster does not serve the kind. One that it serves in another version by now begins anew. */
  #cachesOf(kind: NeededKind): NamespacedCaches<KubeObject> | undefined {
    const { client, served, log, onChange } = this.#options;
    const version = servedKind(kind, served);
    const known = this.#caches.get(kind);
    if (!("found" in version)) {
      known?.caches.stop();
      this.#caches.delete(kind);
      return undefined;
    }
    if (known?.kind.version === version.found.version) return known.caches;
    known?.caches.stop();
    const caches = new NamespacedCaches<KubeObject>(client, version.found, { transform: leanOf(kind), log }, (namespace, { metadata }) =>
      onChange(kind, namespace, metadata.name),
    );
    this.#caches.set(kind, { kind: version.found, caches });
    return caches;
  }
}

function placesIn(needs: Needs): [NeededKind, string][] {
  return [...needs].flatMap(([kind, places]) => [...places.keys()].map((namespace): [NeededKind, string] => [kind, namespace]));
}
