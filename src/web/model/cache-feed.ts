import { Event } from "../../api/core/event.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import { metaTime } from "../../api/time.ts";
import type { SyncRow } from "../api.ts";
import type { DashboardModel } from "./model.ts";

/** A broken watch usually recovers within moments, which is not shown. */
const PATIENCE_MS = 5_000;
/** A kind that is not read by then may not be installed or not be readable. */
const FIRST_READ_MS = 10_000;

/** Puts the objects of the caches into the model, and reports whether they are current. */
export class CacheFeed {
  readonly #model: DashboardModel;
  readonly #caches: readonly Cache<KubeObject>[];
  readonly #lost = new Map<Cache<KubeObject>, SyncRow["lost"][number]>();
  readonly #timers = new Map<Cache<KubeObject>, NodeJS.Timeout>();
  readonly #ends: (() => void)[] = [];
  #hasWaited = false;

  constructor(model: DashboardModel, caches: readonly Cache<KubeObject>[]) {
    this.#model = model;
    this.#caches = caches;
  }

  begin(signal: AbortSignal): void {
    const since = metaTime(new Date());
    for (const cache of this.#caches) {
      const { kind } = cache;
      this.#ends.push(
        cache.subscribe(({ type, object }) => {
          if (kind.kind === Event.kind) this.#model.putEvent(object as Event);
          else if (type === "deleted") this.#model.drop(kind, object);
          else this.#model.put(kind, object);
        }),
        cache.onConnection((state) => (state === "lost" ? this.#lose(cache) : this.#regain(cache))),
      );
      if (cache.synced) continue;
      this.#later(cache, FIRST_READ_MS, () => {
        this.#hasWaited = true;
        this.#lost.set(cache, { kind: kind.kind, since, read: false });
      });
      // An end by the signal is no error.
      cache.waitForSync(signal).then(
        () => this.#regain(cache),
        () => undefined,
      );
    }
    this.#tell();
    signal.addEventListener("abort", () => {
      for (const end of this.#ends) end();
      for (const timer of this.#timers.values()) clearTimeout(timer);
    });
  }

  #lose(cache: Cache<KubeObject>): void {
    const since = metaTime(new Date());
    const lost = { kind: cache.kind.kind, since, read: true };
    if (!this.#lost.has(cache)) this.#later(cache, PATIENCE_MS, () => this.#lost.set(cache, lost));
  }

  #regain(cache: Cache<KubeObject>): void {
    clearTimeout(this.#timers.get(cache));
    this.#timers.delete(cache);
    this.#lost.delete(cache);
    this.#tell();
  }

  #later(cache: Cache<KubeObject>, ms: number, change: () => void): void {
    clearTimeout(this.#timers.get(cache));
    const timer = setTimeout(() => {
      change();
      this.#tell();
    }, ms);
    timer.unref();
    this.#timers.set(cache, timer);
  }

  #tell(): void {
    // Several caches may be of one kind.
    const lost = [...new Map([...this.#lost.values()].map((one) => [one.kind, one])).values()].toSorted((one, other) =>
      one.kind < other.kind ? -1 : 1,
    );
    const complete = this.#hasWaited || this.#caches.every(({ synced }) => synced);
    this.#model.set("sync", { type: "sync", key: "sync", complete, lost, hidden: [] } satisfies SyncRow);
  }
}
