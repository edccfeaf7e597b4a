import { isDeepStrictEqual } from "node:util";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { Cache, type CacheOptions, type Change } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";

/**
 * The caches of a kind in the namespaces that meshes speak of: pods and endpoints of all others are many, and of no concern. `onChange` hears the
 * namespace in which something other than a resourceVersion has changed.
 */
export class NamespacedCaches<T extends KubeObject> {
  readonly #client: KubeClient;
  readonly #kind: Kind<T>;
  readonly #options: CacheOptions<T>;
  readonly #onChange: (namespace: string) => void;
  readonly #followed = new Map<string, { cache: Cache<T>; stop: AbortController }>();

  constructor(client: KubeClient, kind: Kind<T>, options: CacheOptions<T>, onChange: (namespace: string) => void) {
    this.#client = client;
    this.#kind = kind;
    this.#options = options;
    this.#onChange = onChange;
  }

  /** From now on these and no others; returns when the view of all of them is whole. */
  async follow(namespaces: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    for (const [namespace, { stop }] of this.#followed) {
      if (namespaces.has(namespace)) continue;
      stop.abort();
      this.#followed.delete(namespace);
    }
    for (const namespace of namespaces) if (!this.#followed.has(namespace)) this.#start(namespace);
    await Promise.all(this.#followed.values().map(({ cache }) => cache.waitForSync(signal)));
  }

  stop(): void {
    for (const { stop } of this.#followed.values()) stop.abort();
    this.#followed.clear();
  }

  list(namespace: string): T[] {
    return this.#followed.get(namespace)?.cache.list() ?? [];
  }

  /** By `namespace/name`. */
  get(key: string): T | undefined {
    return this.#followed.get(namespaceOf(key))?.cache.get(key);
  }

  by(namespace: string, index: string, value: string): T[] {
    return this.#followed.get(namespace)?.cache.by(index, value) ?? [];
  }

  #start(namespace: string): void {
    const cache = new Cache(this.#client, this.#kind, { ...this.#options, namespace });
    const stop = new AbortController();
    this.#followed.set(namespace, { cache, stop });
    cache.subscribe((change) => {
      if (isNews(change)) this.#onChange(namespace);
    });
    cache.start(stop.signal);
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

/** Whoever asked for the namespace waits for the first read, and need not be told of it. */
function isNews<T extends KubeObject>(change: Change<T>): boolean {
  if (change.type === "added") return !change.initial;
  return change.type !== "updated" || !isDeepStrictEqual(withoutVersion(change.old), withoutVersion(change.object));
}

function withoutVersion(object: KubeObject): object {
  return { ...object, metadata: { ...object.metadata, resourceVersion: undefined } };
}
