import type { Kind, KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../client/client.ts";
import { untilAborted } from "../../util/sleep.ts";
import type { Selection } from "../client/resource-client.ts";
import type { Log } from "../log.ts";
import { cacheListenerErrors, cacheObjects, cacheSynced } from "../metrics.ts";
import { RECONNECT_DELAYS, type ReconnectDelays, Reflector } from "./reflector.ts";
import { type IndexFunction, CacheStore } from "./store.ts";

export type Change<T> =
  | { type: "added"; object: T; initial: boolean }
  | { type: "updated"; object: T; old: T }
  | { type: "deleted"; object: T };

export interface CacheOptions<T> extends Selection {
  /**
   * Called before an object is stored, to drop unused fields; keep name, namespace, uid and resourceVersion. managedFields are always
   * dropped.
   */
  transform?: (object: T) => T;
  /** Pure functions of the object; `by(name, value)` finds the objects that yield the value. */
  indexes?: Record<string, IndexFunction<T>>;
  log?: Pick<Log, "info" | "warn" | "error">;
  pace?: Partial<ReconnectDelays>;
}

type Listener<T> = (change: Change<T>) => void;
type ConnectionListener = (state: "connected" | "lost") => void;

/**
 * The objects of one kind, kept up to date in memory. They are shared: do not mutate them. While the server is unreachable the last state
 * stays readable, and what changed meanwhile follows as changes.
 */
export class Cache<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly #client: KubeClient;
  readonly #options: CacheOptions<T>;
  readonly #store: CacheStore<T>;
  readonly #listeners = new Set<Listener<T>>();
  readonly #connectionListeners = new Set<ConnectionListener>();
  readonly #counted: { set(count: number): void };
  readonly #firstSync = Promise.withResolvers<void>();
  #started = false;
  #synced = false;
  #connected = false;
  #missed = false;
  #lastHeard: number | undefined;

  constructor(client: KubeClient, kind: Kind<T>, options: CacheOptions<T> = {}) {
    this.kind = kind;
    this.#client = client;
    this.#options = options;
    this.#counted = cacheObjects.labels({ kind: kind.kind });
    this.#store = new CacheStore(this.#guarded(options.indexes ?? {}));
    // Callers that wait get the rejection; without any it is no error.
    this.#firstSync.promise.catch(() => undefined);
  }

  get selection(): Selection {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    return {
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }

  start(signal: AbortSignal): void {
    if (this.#started) throw new TypeError(`cache of ${this.kind.plural} is already started`);
    this.#started = true;
    const reflector = new Reflector(this.#client, this.kind, {
      selection: this.selection,
      ingest: (object) => this.#ingest(object),
      pace: { ...RECONNECT_DELAYS, ...this.#options.pace },
      view: {
        cached: (key) => this.#store.get(key),
        replace: (objects) => this.#replace(objects),
        put: (key, object) => this.#deliver(this.#put(key, object, false)),
        remove: (key, object) => this.#deliver(this.#remove(key, object)),
        heard: () => (this.#lastHeard = performance.now()),
        connected: () => this.#connection(true),
        lost: (cause, error) => this.#lost(cause, error),
      },
    });
    void reflector.run(signal).then(() => this.#firstSync.reject(signal.reason));
  }

  get synced(): boolean {
    return this.#synced;
  }

  /** Until the first full list is stored and delivered. */
  waitForSync(signal: AbortSignal): Promise<void> {
    return this.#synced ? Promise.resolve() : untilAborted(this.#firstSync.promise, signal);
  }

  /** `performance.now()` of the last data from the server, bookmarks included; undefined before the first sync. */
  get lastHeard(): number | undefined {
    return this.#synced ? this.#lastHeard : undefined;
  }

  /** Called when the watch broke, and when the state is complete again. */
  onConnection(listener: ConnectionListener): () => void {
    this.#connectionListeners.add(listener);
    return () => this.#connectionListeners.delete(listener);
  }

  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): T[] {
    return this.#store.list();
  }

  get size(): number {
    return this.#store.size;
  }

  by(index: string, value: string): T[] {
    return this.#store.by(index, value);
  }

  /** First the existing objects, as added with `initial`; then every change. A listener that throws does not affect the others. */
  subscribe(listener: Listener<T>): () => void {
    // A wrapper, so that one function may subscribe twice.
    const own: Listener<T> = (change) => listener(change);
    for (const object of this.list()) this.#tell(own, { type: "added", object, initial: true });
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  #ingest(object: T): T {
    delete object.metadata.managedFields;
    let ingested = object;
    try {
      ingested = this.#options.transform?.(object) ?? object;
    } catch (error) {
      this.#options.log?.error({ kind: this.kind.kind, error }, "transform failed, storing the whole object");
    }
    return FREEZES ? deepFreeze(ingested) : ingested;
  }

  #replace(objects: Map<string, T>): void {
    const initial = !this.#synced;
    const changes: Change<T>[] = [];
    for (const [key, object] of this.#store.entries()) {
      if (!objects.has(key)) changes.push(...this.#remove(key, object));
    }
    for (const [key, object] of objects) changes.push(...this.#put(key, object, initial));
    this.#synced = true;
    this.#deliver(changes);
    this.#firstSync.resolve();
  }

  #put(key: string, object: T, initial: boolean): Change<T>[] {
    const old = this.#store.get(key);
    if (old === object) return [];
    this.#store.put(key, object);
    if (old === undefined) return [{ type: "added", object, initial }];
    if (old.metadata.uid === object.metadata.uid) return [{ type: "updated", object, old }];
    // Deleted and created again: the deletion was missed.
    return [
      { type: "deleted", object: old },
      { type: "added", object, initial: false },
    ];
  }

  #remove(key: string, object: T): Change<T>[] {
    if (this.#store.get(key) === undefined) return [];
    this.#store.remove(key);
    return [{ type: "deleted", object }];
  }

  #deliver(changes: Change<T>[]): void {
    this.#counted.set(this.#store.size);
    // Listeners that subscribe during delivery have already got the result.
    const audience = [...this.#listeners];
    for (const change of changes) {
      for (const listener of audience) if (this.#listeners.has(listener)) this.#tell(listener, change);
    }
  }

  #tell(listener: Listener<T>, change: Change<T>): void {
    try {
      listener(change);
    } catch (error) {
      cacheListenerErrors.inc({ kind: this.kind.kind });
      this.#options.log?.error({ kind: this.kind.kind, change: change.type, error }, "cache listener failed");
    }
  }

  #lost(cause: string, error: unknown): void {
    if (cause !== "closed") this.#options.log?.warn({ kind: this.kind.kind, cause, error }, "watch lost, retrying");
    this.#missed ||= cause !== "closed";
    this.#connection(false);
  }

  #connection(connected: boolean): void {
    if (connected === this.#connected) return;
    this.#connected = connected;
    if (connected && this.#missed) this.#options.log?.info({ kind: this.kind.kind }, "watch restored");
    if (connected) this.#missed = false;
    cacheSynced.set({ kind: this.kind.kind }, connected ? 1 : 0);
    for (const listener of this.#connectionListeners) {
      try {
        listener(connected ? "connected" : "lost");
      } catch (error) {
        cacheListenerErrors.inc({ kind: this.kind.kind });
        this.#options.log?.error({ kind: this.kind.kind, error }, "connection listener failed");
      }
    }
  }

  #guarded(indexes: Record<string, IndexFunction<T>>): Record<string, IndexFunction<T>> {
    const guard =
      (index: string, valuesOf: IndexFunction<T>): IndexFunction<T> =>
      (object) => {
        try {
          return [...valuesOf(object)];
        } catch (error) {
          this.#options.log?.error({ kind: this.kind.kind, index, error }, "index function failed, object skipped");
          return [];
        }
      };
    return Object.fromEntries(Object.entries(indexes).map(([name, valuesOf]) => [name, guard(name, valuesOf)]));
  }
}

/** Makes a mutation of a shared object throw. Too slow for production with 10 000 objects. */
const FREEZES = process.env["NODE_ENV"] === "test" || process.env["VITEST"] !== undefined;

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
