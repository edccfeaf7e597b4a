/** Lists all objects, watches their changes, and starts over for ever. */

import { keyOf, type Kind, type KubeObject } from "../../api/kind.ts";
import { backoffMs, type BackoffRange } from "../../util/backoff.ts";
import type { KubeClient } from "../client/client.ts";
import { isKubeError, type KubeErrorCode } from "../client/error.ts";
import { sleep } from "../../util/sleep.ts";
import type { ResourceClient, Selection } from "../client/resource-client.ts";
import { compareResourceVersions } from "../client/resource-version.ts";
import type { WatchEvent } from "../client/watch-stream.ts";
import { cacheLists, watchEvents, watchReconnects } from "../metrics.ts";

export interface ReflectorTarget<T> {
  cached(key: string): T | undefined;
  replace(objects: Map<string, T>): void;
  put(key: string, object: T): void;
  remove(key: string, object: T): void;
  heard(): void;
  connected(): void;
  lost(cause: string, error: unknown): void;
}

export interface ReconnectDelays {
  /** How long a resumed watch must be open to count as accepted: a rejection may come as its first event. */
  stableMs: number;
  /** A watch without data for this long counts as dead; a server sends a bookmark every minute. */
  idleMs: number;
  backoff: BackoffRange;
}

export const RECONNECT_DELAYS: ReconnectDelays = { stableMs: 1_000, idleMs: 90_000, backoff: { minMs: 125, maxMs: 30_000 } };

/**
 * After so many lists in a row that are older than the cache, the server's storage was restored from a backup; fewer mean that one server
 * lags.
 */
const BELIEVE_AFTER = 10;

/** Answers of a server without sendInitialEvents. */
const REJECTIONS: KubeErrorCode[] = ["BadRequest", "Invalid", "UnsupportedMediaType", "MethodNotAllowed"];

/** A server returned an older state than the cached one. */
class Behind extends Error {}

/** A server ignored sendInitialEvents. */
class NoWatchList extends Error {}

export class Reflector<T extends KubeObject> {
  readonly #kind: Kind<T>;
  readonly #resource: ResourceClient<T>;
  readonly #selection: Selection;
  readonly #onlyName: string | undefined;
  readonly #view: ReflectorTarget<T>;
  readonly #ingest: (object: T) => T;
  readonly #pace: ReconnectDelays;
  readonly #counted: Record<WatchEvent<T>["type"], { inc(): void }>;
  /** The newest version in the cache. */
  #resourceVersion: string | undefined;
  /** Whether a watch can resume from it. */
  #resumable = false;
  #mustList = false;
  #behind = 0;
  #failures = 0;

  constructor(
    client: KubeClient,
    kind: Kind<T>,
    options: { selection: Selection; view: ReflectorTarget<T>; ingest: (object: T) => T; pace: ReconnectDelays },
  ) {
    this.#kind = kind;
    this.#resource = client.resource(kind);
    this.#selection = options.selection;
    this.#onlyName = /^metadata\.name=([^,=!]+)$/.exec(options.selection.fieldSelector ?? "")?.[1];
    this.#view = options.view;
    this.#ingest = options.ingest;
    this.#pace = options.pace;
    // Looking up labels costs more than the rest of an event's processing, except for parsing.
    const count = (type: string): { inc(): void } => watchEvents.labels({ kind: kind.kind, type });
    this.#counted = { ADDED: count("added"), MODIFIED: count("modified"), DELETED: count("deleted"), BOOKMARK: count("bookmark") };
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let failure: unknown;
      try {
        await this.#followOnce(signal);
      } catch (error) {
        failure = error;
      }
      if (signal.aborted) return;
      const cause = this.#learnFrom(failure);
      watchReconnects.inc({ kind: this.#kind.kind, cause });
      this.#view.lost(cause, failure);
      const wanted = isKubeError(failure) ? (failure.retryAfterMs ?? 0) : 0;
      this.#failures += 1;
      await sleep(wanted + backoffMs(this.#failures, this.#pace.backoff), signal).catch(() => undefined);
    }
  }

  #learnFrom(failure: unknown): string {
    if (failure === undefined) return "closed";
    if (failure instanceof Behind || isVersionLost(failure)) this.#resumable = false;
    if (failure instanceof Behind) return "behind";
    if (failure instanceof NoWatchList) return "no_watchlist";
    if (isKubeError(failure, "Timeout")) return "silent";
    return isKubeError(failure) ? failure.code : "error";
  }

  async #followOnce(signal: AbortSignal): Promise<void> {
    if (!this.#resumable && !this.#mustList) {
      try {
        return await this.#watchFromNothing(signal);
      } catch (error) {
        if (this.#resumable || !doesNotStream(error)) throw error;
        this.#mustList = true;
        // After an explicit rejection there is no need to wait.
        if (!isKubeError(error, ...REJECTIONS)) throw error;
      }
    }
    if (!this.#resumable && this.#onlyName !== undefined) return await this.#readWatched(this.#onlyName, signal);
    if (!this.#resumable) await this.#list(signal);
    await this.#watchFromHere(signal);
  }

  /** One object by name, with the rights to get and watch only it: read after the watch is open, so that no change is missed. */
  async #readWatched(name: string, signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const limited = AbortSignal.any([signal, failed.signal]);
    const { promise: isRead, resolve, reject } = Promise.withResolvers<void>();
    isRead.catch((error: unknown) => failed.abort(error));
    const onOpen = (): void => void this.#readOne(name, limited).then(resolve, reject);
    try {
      for await (const event of this.#resource.watch({ ...this.#selection, idleMs: this.#pace.idleMs, onOpen, signal: limited })) {
        await isRead;
        this.#heard(event);
        this.#apply(event);
      }
    } finally {
      failed.abort();
    }
  }

  async #readOne(name: string, signal: AbortSignal): Promise<void> {
    const { namespace } = this.#selection;
    const found = await this.#resource.get(name, { ...(namespace !== undefined && { namespace }), signal }).catch((error: unknown) => {
      if (!isKubeError(error, "NotFound")) throw error;
    });
    const received = new Map<string, T>();
    if (found) this.#receive(received, found);
    this.#view.heard();
    // An object that has not changed for long has an older version than the cache.
    const versions = [found?.metadata.resourceVersion ?? "0", this.#resourceVersion ?? "0"].sort(compareResourceVersions);
    this.#adopt(received, versions[1] ?? "0");
    cacheLists.inc({ kind: this.#kind.kind, how: "get" });
    this.#view.connected();
  }

  /** WatchList: all objects and then their changes in one stream, so that neither side holds them all as one text. */
  async #watchFromNothing(signal: AbortSignal): Promise<void> {
    let received: Map<string, T> | undefined = new Map();
    const { idleMs } = this.#pace;
    for await (const event of this.#resource.watch({ ...this.#selection, sendInitialEvents: true, idleMs, signal })) {
      this.#heard(event);
      if (!received) {
        this.#apply(event);
      } else if (event.type !== "BOOKMARK") {
        if (event.type === "DELETED") received.delete(keyOf(event.object));
        else this.#receive(received, event.object);
      } else {
        if (!event.initialEventsEnd) throw new NoWatchList("received a bookmark before the end of the initial events");
        this.#adopt(received, event.resourceVersion);
        received = undefined;
        cacheLists.inc({ kind: this.#kind.kind, how: "watchlist" });
        this.#view.connected();
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    try {
      await this.#listPages(undefined, signal);
    } catch (error) {
      // The continue token expired; a single page cannot.
      if (!isKubeError(error, "Gone")) throw error;
      await this.#listPages(0, signal);
    }
    this.#mustList = false;
    cacheLists.inc({ kind: this.#kind.kind, how: "list" });
  }

  async #listPages(limit: number | undefined, signal: AbortSignal): Promise<void> {
    const received = new Map<string, T>();
    let resourceVersion = "";
    for await (const page of this.#resource.pages({ ...this.#selection, ...(limit === undefined ? {} : { limit }), signal })) {
      this.#view.heard();
      for (const object of page.items) this.#receive(received, object);
      resourceVersion = page.resourceVersion;
    }
    this.#adopt(received, resourceVersion);
  }

  async #watchFromHere(signal: AbortSignal): Promise<void> {
    const { idleMs, stableMs } = this.#pace;
    let stableTimer: NodeJS.Timeout | undefined;
    const onOpen = (): void => {
      stableTimer = setTimeout(() => this.#view.connected(), stableMs);
    };
    const resourceVersion = this.#resourceVersion ?? "";
    try {
      for await (const event of this.#resource.watch({ ...this.#selection, resourceVersion, idleMs, onOpen, signal })) {
        this.#heard(event);
        this.#apply(event);
        this.#view.connected();
      }
    } finally {
      clearTimeout(stableTimer);
    }
  }

  /** Objects of the same version are kept, so that a new list does not need twice the memory and never goes back. */
  #receive(received: Map<string, T>, object: T): void {
    const key = keyOf(object);
    const stored = this.#behind < BELIEVE_AFTER ? this.#view.cached(key) : undefined;
    const keep = stored !== undefined && stored.metadata.uid === object.metadata.uid && !isNewer(object, stored);
    received.set(key, keep ? stored : this.#ingest(object));
  }

  #adopt(objects: Map<string, T>, resourceVersion: string): void {
    const known = this.#resourceVersion;
    if (known !== undefined && compareResourceVersions(resourceVersion, known) < 0 && this.#behind < BELIEVE_AFTER) {
      this.#behind += 1;
      throw new Behind(`server is at ${resourceVersion}, cache is at ${known}`);
    }
    this.#behind = 0;
    this.#resourceVersion = resourceVersion;
    this.#resumable = true;
    this.#view.replace(objects);
  }

  #apply(event: WatchEvent<T>): void {
    // Only data after the first full list proves that the watch works.
    this.#failures = 0;
    const resourceVersion = event.type === "BOOKMARK" ? event.resourceVersion : (event.object.metadata.resourceVersion ?? "");
    const ahead = compareResourceVersions(resourceVersion, this.#resourceVersion ?? "0");
    if (event.type === "BOOKMARK" && ahead < 0) throw new Behind(`bookmark says ${resourceVersion}, cache is at ${this.#resourceVersion}`);
    if (ahead <= 0) return;
    this.#resourceVersion = resourceVersion;
    if (event.type === "BOOKMARK") return;
    const key = keyOf(event.object);
    const object = this.#ingest(event.object);
    if (event.type === "DELETED") this.#view.remove(key, object);
    else this.#view.put(key, object);
  }

  #heard(event: WatchEvent<T>): void {
    this.#view.heard();
    this.#counted[event.type].inc();
  }
}

/** The server cannot resume from this version: it is compacted, in the future, or unknown. */
function isVersionLost(error: unknown): boolean {
  if (isKubeError(error, "Gone", "BadRequest", "Invalid")) return true;
  return isKubeError(error) && error.details?.causes?.some(({ reason }) => reason === "ResourceVersionTooLarge") === true;
}

function doesNotStream(error: unknown): boolean {
  return error instanceof NoWatchList || isKubeError(error, "Timeout", ...REJECTIONS);
}

function isNewer(object: KubeObject, stored: KubeObject): boolean {
  return compareResourceVersions(object.metadata.resourceVersion ?? "0", stored.metadata.resourceVersion ?? "0") > 0;
}
