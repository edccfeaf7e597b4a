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
  readonly #lost = new Map<string, Omit<SyncRow["lost"][number], "kind">>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
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
        cache.subscribe(({ type, object }) => (type === "deleted" ? this.#model.drop(kind, object) : this.#model.put(kind, object))),
        cache.onConnection((state) => (state === "lost" ? this.#lose(kind.kind) : this.#regain(kind.kind))),
      );
      if (cache.synced) continue;
      this.#later(kind.kind, FIRST_READ_MS, () => {
        this.#hasWaited = true;
        this.#lost.set(kind.kind, { since, read: false });
      });
      // An end by the signal is no error.
      cache.waitForSync(signal).then(
        () => this.#regain(kind.kind),
        () => undefined,
      );
    }
    this.#tell();
    signal.addEventListener("abort", () => {
      for (const end of this.#ends) end();
      for (const timer of this.#timers.values()) clearTimeout(timer);
    });
  }

  #lose(kind: string): void {
    const since = metaTime(new Date());
    if (!this.#lost.has(kind)) this.#later(kind, PATIENCE_MS, () => this.#lost.set(kind, { since, read: true }));
  }

  #regain(kind: string): void {
    clearTimeout(this.#timers.get(kind));
    this.#timers.delete(kind);
    this.#lost.delete(kind);
    this.#tell();
  }

  #later(kind: string, ms: number, change: () => void): void {
    clearTimeout(this.#timers.get(kind));
    const timer = setTimeout(() => {
      change();
      this.#tell();
    }, ms);
    timer.unref();
    this.#timers.set(kind, timer);
  }

  #tell(): void {
    const lost = [...this.#lost]
      .map(([kind, { since, read }]) => ({ kind, since, read }))
      .toSorted((one, other) => (one.kind < other.kind ? -1 : 1));
    const complete = this.#hasWaited || this.#caches.every(({ synced }) => synced);
    this.#model.set("sync", { type: "sync", key: "sync", complete, lost, hidden: [] } satisfies SyncRow);
  }
}
