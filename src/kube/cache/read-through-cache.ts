import { keyOf, parseKey, type Kind, type KubeObject } from "../../api/kind.ts";
import type { Cache } from "./cache.ts";
import type { KubeClient } from "../client/client.ts";
import { isKubeError } from "../client/error.ts";
import { compareResourceVersions } from "../client/resource-version.ts";

type Watched<T extends KubeObject> = Pick<Cache<T>, "get" | "list" | "subscribe">;

/** A cache that is never older than the last response of the server. An allocator must not decide on a watch that lags behind. */
export class ReadThroughCache<T extends KubeObject> {
  readonly #client: KubeClient;
  readonly #kind: Kind<T>;
  readonly #cache: Watched<T>;
  readonly #namespace: { namespace?: string };
  readonly #ahead = new Map<string, T>();

  constructor(client: KubeClient, kind: Kind<T>, cache: Watched<T>, namespace: { namespace?: string } = {}) {
    this.#client = client;
    this.#kind = kind;
    this.#cache = cache;
    this.#namespace = namespace;
    cache.subscribe((change) => {
      if (change.type === "deleted") this.#end(change.object);
    });
  }

  async refresh(signal: AbortSignal): Promise<void> {
    const { items } = await this.#client.resource(this.#kind).list({ ...this.#namespace, signal });
    this.#ahead.clear();
    for (const object of items) this.learn(object);
  }

  learn(object: T): void {
    const key = keyOf(object);
    const known = this.#newer(key);
    if (!known || byVersion(known, object) < 0) this.#ahead.set(key, object);
  }

  get(key: string): T | undefined {
    return this.#newer(key) ?? this.#cache.get(key);
  }

  list(): T[] {
    const ahead = [...this.#ahead.keys()].flatMap((key) => this.#newer(key) ?? []);
    if (ahead.length === 0) return this.#cache.list();
    const keys = new Set(ahead.map(keyOf));
    return [...this.#cache.list().filter((object) => !keys.has(keyOf(object))), ...ahead];
  }

  /** Objects that were deleted before the watch reported them, so that the cache may never get them. */
  get unseen(): string[] {
    return [...this.#ahead.keys()].filter((key) => !this.#cache.get(key));
  }

  /** Reads an object that the cache does not have. */
  async verify(key: string, signal: AbortSignal): Promise<void> {
    const { name, ...namespace } = parseKey(key);
    try {
      this.learn(await this.#client.resource(this.#kind).get(name, { ...namespace, signal }));
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
      this.#ahead.delete(key);
    }
  }

  #end(object: T): void {
    const key = keyOf(object);
    const ahead = this.#ahead.get(key);
    if (ahead && byVersion(ahead, object) <= 0) this.#ahead.delete(key);
  }

  #newer(key: string): T | undefined {
    const ahead = this.#ahead.get(key);
    const cached = ahead && this.#cache.get(key);
    if (!ahead || !cached || byVersion(cached, ahead) < 0) return ahead;
    this.#ahead.delete(key);
    return undefined;
  }
}

function byVersion(a: KubeObject, b: KubeObject): number {
  return compareResourceVersions(a.metadata.resourceVersion ?? "0", b.metadata.resourceVersion ?? "0");
}
