import type { Kind, KubeObject } from "../../api/kind.ts";
import { NamespacedCaches } from "../../kube/cache/namespaced-caches.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { compareResourceVersions } from "../../kube/client/resource-version.ts";
import type { Log } from "../../kube/log.ts";
import { stripObject } from "./transforms.ts";
import type { WatchedKind, WatchedKinds } from "./watched-kinds.ts";
import type { ReadResult } from "./observed.ts";
import type { ServedKinds } from "./served-kinds.ts";
import { type ResourceReader, servedKind } from "./reader.ts";

export interface CachedReaderOptions {
  client: KubeClient;
  served: ServedKinds;
  log: Log;
  onChange: (kind: WatchedKind, namespace: string, name: string) => void;
}

export interface WrittenVersion {
  readonly kind: WatchedKind;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
}

/** How long the first list of a namespace may take before the server is read without the caches. */
const FIRST_READ_MS = 3_000;

/** Reads from caches: a policy that waits or rests costs no request. */
export class CachedReader implements ResourceReader {
  readonly #options: CachedReaderOptions;
  readonly #caches = new Map<WatchedKind, { kind: Kind; caches: NamespacedCaches<KubeObject> }>();

  constructor(options: CachedReaderOptions) {
    this.#options = options;
  }

  /** Replaces the watched kinds. */
  follow(all: Iterable<WatchedKinds>): void {
    const wanted = new Map<WatchedKind, Set<string>>();
    for (const watched of all) {
      for (const [kind, byNamespace] of watched) {
        const namespaces = wanted.get(kind) ?? new Set();
        wanted.set(kind, namespaces);
        for (const namespace of byNamespace.keys()) namespaces.add(namespace);
      }
    }
    for (const [kind, { caches }] of this.#caches) if (!wanted.has(kind)) caches.keep(new Set());
    for (const [kind, namespaces] of wanted) this.#cachesOf(kind)?.keep(namespaces);
  }

  async waitUntilRead(watched: WatchedKinds, signal: AbortSignal): Promise<void> {
    const wait = async (kind: WatchedKind, namespace: string) =>
      this.#caches.get(kind)?.caches.waitForSync(namespace, FIRST_READ_MS, signal);
    await Promise.all(namespacesIn(watched).map(([kind, namespace]) => wait(kind, namespace)));
  }

  /** Whether all of it is cached. */
  isWhole(watched: WatchedKinds): boolean {
    return namespacesIn(watched).every(([kind, namespace]) => {
      const version = servedKind(kind, this.#options.served);
      return "found" in version ? this.#caches.get(kind)?.caches.isWhole(namespace) === true : "absent" in version;
    });
  }

  /** Whether the caches include our own writes. */
  hasCaughtUp(written: readonly WrittenVersion[]): boolean {
    return written.every(({ kind, namespace, name, resourceVersion }) => {
      const cached = this.#caches.get(kind)?.caches.get(`${namespace}/${name}`);
      return cached !== undefined && compareResourceVersions(cached.metadata.resourceVersion ?? "0", resourceVersion) >= 0;
    });
  }

  object(kind: WatchedKind, namespace: string, name: string): ReadResult<KubeObject> {
    const version = servedKind(kind, this.#options.served);
    if (!("found" in version)) return version;
    const object = this.#caches.get(kind)?.caches.get(`${namespace}/${name}`);
    return object ? { found: object } : { absent: "object" };
  }

  all(kind: WatchedKind, namespace: string): ReadResult<readonly KubeObject[]> {
    const version = servedKind(kind, this.#options.served);
    return "found" in version ? { found: this.#caches.get(kind)?.caches.list(namespace) ?? [] } : version;
  }

  stop(): void {
    for (const { caches } of this.#caches.values()) caches.stop();
    this.#caches.clear();
  }

  /** Undefined while the cluster does not serve the kind. A kind with a new served version starts over. */
  #cachesOf(kind: WatchedKind): NamespacedCaches<KubeObject> | undefined {
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
    const caches = new NamespacedCaches<KubeObject>(
      client,
      version.found,
      { transform: stripObject(kind), log },
      (namespace, { metadata }) => onChange(kind, namespace, metadata.name),
    );
    this.#caches.set(kind, { kind: version.found, caches });
    return caches;
  }
}

function namespacesIn(watched: WatchedKinds): [WatchedKind, string][] {
  return [...watched].flatMap(([kind, byNamespace]) =>
    [...byNamespace.keys()].map((namespace): [WatchedKind, string] => [kind, namespace]),
  );
}
