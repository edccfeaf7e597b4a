import { isObject } from "../../api/admission/value.ts";
import { keyOf, type KubeObject, type ObjectMeta } from "../../api/kind.ts";
import type { Change } from "../cache/cache.ts";
import { KubeError, type KubeErrorCode } from "../client/error.ts";
import type { ObjectManifest, ObjectRef } from "../client/resource-client.ts";

/** What befalls a request: it does not arrive, its answer is lost after it was carried out, or the server says no. */
export type ModelFault = "lost" | "answer-lost" | "busy" | "rejected" | "not-found" | "fenced";

const ERRORS: Record<ModelFault, KubeErrorCode> = {
  lost: "Unreachable",
  "answer-lost": "Timeout",
  busy: "TooManyRequests",
  rejected: "Invalid",
  "not-found": "NotFound",
  fenced: "Fenced",
};

/** An API server in memory, for tests: one kind, resourceVersions, conflicts, slow requests, and a watch that lags or breaks. */
export class ApiModel<T extends KubeObject> {
  readonly requests: string[] = [];
  readonly faults: ModelFault[] = [];
  latencyMs = 1;
  watchLagMs = 1;
  /** What the server makes of a status before it keeps it. */
  store = (status: unknown): unknown => status;

  readonly #objects = new Map<string, T>();
  readonly #cached = new Map<string, T>();
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #connectionListeners = new Set<(state: "connected" | "lost") => void>();
  readonly #sync = Promise.withResolvers<void>();
  #revision = 100;
  #synced = true;
  /** Counts the watches: what was on its way in an earlier one never arrives. */
  #watch = 1;
  #watching = true;

  readonly cache = {
    get: (key: string) => this.#cached.get(key),
    waitForSync: (signal: AbortSignal) => this.#waitForSync(signal),
    subscribe: (listener: (change: Change<T>) => void) => listen(this.#listeners, listener),
    onConnection: (listener: (state: "connected" | "lost") => void) => listen(this.#connectionListeners, listener),
    synced: true,
  };

  resource() {
    return {
      get: (name: string, { namespace, signal }: { namespace?: string; signal: AbortSignal }) =>
        this.#call("get", name, namespace, signal, (key) => this.#existing(key)),
      create: (object: ObjectManifest<T>, { signal }: { signal: AbortSignal }) =>
        this.#call("create", object.metadata.name ?? "", object.metadata.namespace, signal, (key) => this.#create(key, object)),
      patch: (ref: ObjectRef, patch: object, options: { resourceVersion?: string; signal: AbortSignal }) =>
        this.#call("patch", ref.name, ref.namespace, options.signal, (key) => {
          const { metadata } = applied(this.#existing(key, options.resourceVersion), patch) as T;
          return this.#put({ ...this.#existing(key), metadata });
        }),
      patchStatus: (ref: ObjectRef, patch: object, options: { resourceVersion?: string; signal: AbortSignal }) =>
        this.#call("patchStatus", ref.name, ref.namespace, options.signal, (key) => {
          const { status } = applied(this.#existing(key, options.resourceVersion), patch) as T & { status: unknown };
          return this.#put({ ...this.#existing(key), status: this.store(status) });
        }),
      delete: async (ref: ObjectRef, options: { uid?: string; resourceVersion?: string; signal: AbortSignal }) => {
        await this.#call("delete", ref.name, ref.namespace, options.signal, (key) => {
          const object = this.#existing(key, options.resourceVersion);
          if (object.metadata.uid !== options.uid) throw new KubeError("Conflict", "the uid differs");
          return this.remove(key) ?? object;
        });
      },
    };
  }

  object(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** The writes so far, forgotten at once. */
  take(): string[] {
    return this.requests.splice(0);
  }

  /** A foreign hand changes an object, or makes it. */
  edit(key: string, change: (object: T) => object): T | undefined {
    const object = this.#objects.get(key);
    return object && this.#put({ ...object, ...change(object) });
  }

  add(object: { metadata: ObjectMeta } & Record<string, unknown>): void {
    this.#create(keyOf(object), object as unknown as ObjectManifest<T>);
  }

  remove(key: string): T | undefined {
    const object = this.#objects.get(key);
    if (!object) return undefined;
    this.#objects.delete(key);
    const last = frozen({ ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#revision) } });
    this.#tell(() => this.#see({ type: "deleted", object: last }));
    return last;
  }

  /** The watch breaks: what happens from now on is seen only after `relist`. */
  cut(): void {
    this.#watching = false;
    for (const listener of this.#connectionListeners) listener("lost");
  }

  relist(): void {
    this.#watch += 1;
    this.#watching = true;
    for (const [key, object] of this.#cached) {
      if (!this.#objects.has(key)) this.#see({ type: "deleted", object });
    }
    for (const object of this.#objects.values()) this.#see({ type: "added", object, initial: false });
    for (const listener of this.#connectionListeners) listener("connected");
  }

  /** Until `sync` the cache has not read anything. */
  unsynced(): void {
    this.#synced = false;
    this.cache.synced = false;
  }

  sync(): void {
    this.#synced = true;
    this.cache.synced = true;
    this.#sync.resolve();
    this.relist();
  }

  async #call(verb: string, name: string, namespace: string | undefined, signal: AbortSignal, carryOut: (key: string) => T): Promise<T> {
    const key = keyOf({ metadata: { name, ...(namespace && { namespace }) } });
    this.requests.push(`${verb} ${key}`);
    const fault = this.faults.shift();
    await sleep(this.latencyMs, signal);
    if (fault && fault !== "answer-lost" && (fault !== "rejected" || verb === "patchStatus")) throw new KubeError(ERRORS[fault], fault);
    const answer = carryOut(key);
    await sleep(this.latencyMs, signal);
    if (fault === "answer-lost") throw new KubeError(ERRORS[fault], fault);
    return answer;
  }

  #existing(key: string, resourceVersion?: string): T {
    const object = this.#objects.get(key);
    if (!object) throw new KubeError("NotFound", `${key} not found`);
    if (resourceVersion !== undefined && object.metadata.resourceVersion !== resourceVersion)
      throw new KubeError("Conflict", `${key} moved on`);
    return object;
  }

  #create(key: string, object: ObjectManifest<T>): T {
    if (this.#objects.has(key)) throw new KubeError("AlreadyExists", `${key} already exists`);
    return this.#put({ ...object, metadata: { ...object.metadata, uid: `uid-${this.#revision}` } } as unknown as T);
  }

  /** A write that changes nothing gets no new version, as on a real server. */
  #put(object: T): T {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    if (
      old &&
      JSON.stringify(old) === JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: old.metadata.resourceVersion } })
    ) {
      return old;
    }
    const stored = frozen({ ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#revision) } });
    this.#objects.set(key, stored);
    this.#tell(() => this.#see({ type: "added", object: stored, initial: false }));
    return stored;
  }

  #tell(deliver: () => void): void {
    if (!this.#watching) return;
    const watch = this.#watch;
    setTimeout(() => {
      if (this.#watching && watch === this.#watch && this.#synced) deliver();
    }, this.watchLagMs);
  }

  #see(change: Change<T>): void {
    const key = keyOf(change.object);
    const old = this.#cached.get(key);
    if (change.type === "deleted") this.#cached.delete(key);
    else this.#cached.set(key, change.object);
    if (old === change.object && change.type !== "deleted") return;
    const delivered = old && change.type === "added" ? ({ type: "updated", object: change.object, old } as const) : change;
    for (const listener of this.#listeners) listener(delivered);
  }

  async #waitForSync(signal: AbortSignal): Promise<void> {
    if (this.#synced) return;
    await Promise.race([
      this.#sync.promise,
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
    ]);
  }
}

function listen<L>(listeners: Set<L>, listener: L): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const giveUp = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", giveUp);
      resolve();
    }, ms);
    signal.addEventListener("abort", giveUp);
  });
}

/** RFC 7396 section 2. */
export function applied(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = applied(result[name], value);
  }
  return result;
}

function frozen<V>(value: V): V {
  const copy = structuredClone(value);
  freeze(copy);
  return copy;
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
}
