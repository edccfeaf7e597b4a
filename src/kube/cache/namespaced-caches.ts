import { isDeepStrictEqual } from "node:util";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../client/client.ts";
import { Cache, type CacheOptions, type Change } from "./cache.ts";

interface Followed<T extends KubeObject> {
  readonly cache: Cache<T>;
  readonly stop: AbortController;
  readonly since: number;
  lostAt: number | undefined;
}

/** How long a broken watch may take to resume before its state counts as incomplete. */
const LOST_MS = 5_000;

/** The caches of a kind in some namespaces only. `onChange` gets the namespace and the object if more than a resourceVersion changed. */
export class NamespacedCaches<T extends KubeObject> {
  readonly #client: KubeClient;
  readonly #kind: Kind<T>;
  readonly #options: CacheOptions<T>;
  readonly #onChange: (namespace: string, object: T) => void;
  readonly #followed = new Map<string, Followed<T>>();

  constructor(client: KubeClient, kind: Kind<T>, options: CacheOptions<T>, onChange: (namespace: string, object: T) => void) {
    this.#client = client;
    this.#kind = kind;
    this.#options = options;
    this.#onChange = onChange;
  }

  /** Replaces the set of namespaces; "" means all of a cluster-scoped kind. Resolves when all of them are complete. */
  async follow(namespaces: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    this.keep(namespaces);
    await Promise.all(this.#followed.values().map(({ cache }) => cache.waitForSync(signal)));
  }

  /** As `follow`, without waiting: for a kind that may not be readable everywhere. */
  keep(namespaces: ReadonlySet<string>): void {
    for (const [namespace, { stop }] of this.#followed) {
      if (namespaces.has(namespace)) continue;
      stop.abort();
      this.#followed.delete(namespace);
    }
    for (const namespace of namespaces) if (!this.#followed.has(namespace)) this.#start(namespace);
  }

  /** Until the namespace is complete, or this long after it was requested. */
  async waitForSync(namespace: string, patienceMs: number, signal: AbortSignal): Promise<void> {
    const followed = this.#followed.get(namespace);
    if (!followed || followed.cache.synced) return;
    const left = followed.since + patienceMs - performance.now();
    if (left <= 0) return;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(left))]);
    await followed.cache.waitForSync(limit).catch(() => signal.throwIfAborted());
  }

  /** Whether the listed objects are complete, apart from changes in flight. */
  isWhole(namespace: string): boolean {
    const followed = this.#followed.get(namespace);
    if (!followed?.cache.synced) return false;
    return followed.lostAt === undefined || performance.now() - followed.lostAt < LOST_MS;
  }

  stop(): void {
    for (const { stop } of this.#followed.values()) stop.abort();
    this.#followed.clear();
  }

  list(namespace: string): T[] {
    return this.#followed.get(namespace)?.cache.list() ?? [];
  }

  get(key: string): T | undefined {
    return this.#followed.get(namespaceOf(key))?.cache.get(key);
  }

  by(namespace: string, index: string, value: string): T[] {
    return this.#followed.get(namespace)?.cache.by(index, value) ?? [];
  }

  #start(namespace: string): void {
    const cache = new Cache(this.#client, this.#kind, { ...this.#options, namespace });
    const followed: Followed<T> = { cache, stop: new AbortController(), since: performance.now(), lostAt: undefined };
    this.#followed.set(namespace, followed);
    cache.subscribe((change) => {
      if (isNews(change)) this.#onChange(namespace, change.object);
    });
    cache.onConnection((state) => (followed.lostAt = state === "lost" ? performance.now() : undefined));
    cache.start(followed.stop.signal);
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf("/")));
}

/** The caller that requested the namespace waits for the first list. */
function isNews<T extends KubeObject>(change: Change<T>): boolean {
  if (change.type === "added") return !change.initial;
  return change.type !== "updated" || !isDeepStrictEqual(withoutVersion(change.old), withoutVersion(change.object));
}

function withoutVersion(object: KubeObject): object {
  return { ...object, metadata: { ...object.metadata, resourceVersion: undefined } };
}
