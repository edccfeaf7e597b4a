import { constants } from "node:os";
import { isDeepStrictEqual } from "node:util";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { Cache, type CacheOptions } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";
import { isKubeError } from "../client/error.ts";
import { type Check, HealthServer } from "../health.ts";
import type { LeaderElector } from "../leader/leader.ts";
import type { Log } from "../log.ts";
import type { Runnable } from "./controller.ts";
import { RunnableGroup, type GroupMember, RunnableError, STOP_PHASES, type StopPhase } from "./runnable-group.ts";
import { aborted, finishesWithin } from "../../util/deadline.ts";

export interface ManagerOptions {
  client: KubeClient;
  log: Log;
  /** The address of /livez, /readyz and /metrics: `host:port` or `:port`. */
  healthAddress?: string;
  /** Without it, leader-only runnables start at once. */
  leader?: Pick<LeaderElector, "run">;
}

/** The timeout for releasing the Lease; after it the Lease expires by itself. */
const RELEASE_MS = 4_000;

/**
 * One program's parts, started and ended in order.
 *
 * Start: health server, caches, their sync, runnables, and those for the leader when elected.
 * End, on SIGTERM, SIGINT, the signal or a failure: controllers drain, writers flush, the Lease is released, caches and connections close, last
 * of all the health server. A second SIGTERM or SIGINT ends the process at once.
 */
export class Manager {
  readonly #client: KubeClient;
  readonly #log: Log;
  readonly #healthAddress: string | undefined;
  readonly #leader: Pick<LeaderElector, "run"> | undefined;
  readonly #caches: { readonly cache: Cache<KubeObject>; readonly options: object; readonly isLate: boolean }[] = [];
  readonly #members: (GroupMember & { leaderOnly: boolean })[] = [];
  readonly #checks = new Map<string, Check>();
  readonly #stop = new AbortController();
  readonly #groups = new Set<RunnableGroup>();
  readonly #groupsEnded = Promise.withResolvers<void>();
  #failure: Error | undefined;

  constructor(options: ManagerOptions) {
    this.#client = options.client;
    this.#log = options.log;
    this.#healthAddress = options.healthAddress;
    this.#leader = options.leader;
    this.#checks.set("shutdown", () => this.#assertRunning());
    this.#checks.set("caches", () => this.#assertSynced());
  }

  /** Started and synced before every runnable. Equal requests share one cache. */
  cache<T extends KubeObject>(kind: Kind<T>, options: CacheOptions<T> = {}): Cache<T> {
    return this.#cache(kind, options, false);
  }

  /**
   * Started with the others but not waited for: for parts that must not block the rest where their kinds or rights are missing. Its reader
   * waits for it.
   */
  lateCache<T extends KubeObject>(kind: Kind<T>, options: CacheOptions<T> = {}): Cache<T> {
    return this.#cache(kind, options, true);
  }

  add(runnable: Runnable, options: { phase?: StopPhase; leaderOnly?: boolean } = {}): void {
    const { phase = "controllers", leaderOnly = false } = options;
    this.#members.push({ runnable, phase, leaderOnly });
  }

  /** Kinds that are required for the start and not read yet. */
  get unread(): string[] {
    return this.#caches.filter(({ cache, isLate }) => !isLate && !cache.synced).map(({ cache }) => cache.kind.plural);
  }

  addCheck(name: string, check: Check): void {
    this.#checks.set(name, check);
  }

  /** Throws the failure that ended it, if any. Once per manager. */
  async run(signal: AbortSignal): Promise<void> {
    const stopListening = this.#listenForTheEnd(signal);
    const watching = new AbortController();
    const health = new HealthServer(this.#checks, this.#log);
    try {
      if (this.#healthAddress !== undefined) await this.#listen(health, this.#healthAddress);
      for (const { cache } of this.#caches) cache.start(watching.signal);
      await Promise.all(this.#caches.filter(({ isLate }) => !isLate).map(({ cache }) => cache.waitForSync(this.#stop.signal)));
      this.#man(false);
      const leading = this.#lead();
      await aborted(this.#stop.signal);
      await this.#endGroups();
      if (!(await finishesWithin(RELEASE_MS, leading))) this.#log.warn("Lease not released in time, it will expire");
    } catch (error) {
      if (!this.#stop.signal.aborted || error !== this.#stop.signal.reason) throw error;
    } finally {
      watching.abort();
      this.#client.close();
      await health.close();
      stopListening();
    }
    if (this.#failure) throw this.#failure;
  }

  async #listen(health: HealthServer, address: string): Promise<void> {
    try {
      this.#log.info({ address: await health.listen(address) }, "health server listening");
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new RunnableError("Failed", "health server", `The health server cannot listen on ${address}: ${why}`, { cause: error });
    }
  }

  #listenForTheEnd(signal: AbortSignal): () => void {
    const end = (why: string) => {
      this.#log.info({ why }, "ending");
      this.#stop.abort();
    };
    const onAbort = () => end("stopped");
    const onSignal = (name: NodeJS.Signals) => {
      if (this.#stop.signal.aborted) process.exit(128 + constants.signals[name]);
      end(name);
    };
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort);
    for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, onSignal);
    return () => {
      signal.removeEventListener("abort", onAbort);
      for (const name of ["SIGTERM", "SIGINT"] as const) process.off(name, onSignal);
    };
  }

  #man(leaderOnly: boolean): RunnableGroup {
    const members = this.#members.filter((member) => member.leaderOnly === leaderOnly);
    const group = new RunnableGroup(members, this.#log, (error) => {
      // The fence closes a moment before the loss is reported, and that ends the term for the others too.
      if (leaderOnly && isKubeError(error.cause, "Fenced"))
        this.#log.warn({ error, runnable: error.runnable }, "runnable stopped: leadership lost");
      else this.#fail(error);
    });
    this.#groups.add(group);
    return group;
  }

  /**
   * Campaigns again after a loss of the Lease. controller-runtime ends the process instead, because it cannot know that everything has
   * stopped. Here every write of a leader passes the fence, which closes before the loss is known, and a new term begins only after the
   * last runnable of the old one has ended; if one does not, the process ends. So the caches stay warm, and the webhook keeps answering.
   */
  async #lead(): Promise<void> {
    if (!this.#leader) {
      this.#man(true);
      return;
    }
    while (!this.#stop.signal.aborted) {
      try {
        await this.#leader.run(this.#stop.signal, { onStarted: (signal) => this.#serveTerm(signal) });
      } catch (error) {
        if (isKubeError(error, "Fenced")) this.#log.warn({ error }, "leadership lost, trying to acquire it again");
        else this.#fail(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  async #serveTerm(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const group = this.#man(true);
    await aborted(signal);
    if (this.#stop.signal.aborted) {
      await this.#groupsEnded.promise;
      return;
    }
    try {
      for (const phase of STOP_PHASES) await group.end(phase);
      this.#groups.delete(group);
    } catch (error) {
      this.#fail(error as RunnableError);
    }
  }

  async #endGroups(): Promise<void> {
    for (const phase of STOP_PHASES) {
      const ends = await Promise.allSettled([...this.#groups].map((group) => group.end(phase)));
      for (const end of ends) if (end.status === "rejected") this.#fail(end.reason as RunnableError);
    }
    this.#groupsEnded.resolve();
  }

  #fail(error: Error): void {
    this.#log.error(
      { error: error.cause ?? error, runnable: error instanceof RunnableError ? error.runnable : "leader" },
      "runnable failed",
    );
    this.#failure ??= error;
    this.#stop.abort();
  }

  #assertRunning(): void {
    if (this.#stop.signal.aborted) throw new Error("the process is ending");
  }

  #cache<T extends KubeObject>(kind: Kind<T>, options: CacheOptions<T>, isLate: boolean): Cache<T> {
    // A cache that one caller need not wait for may be shared with one that must.
    const known = this.#caches.find(
      (one) => one.cache.kind === (kind as unknown) && isDeepStrictEqual(one.options, options) && (isLate || !one.isLate),
    );
    if (known) return known.cache as unknown as Cache<T>;
    const cache = new Cache(this.#client, kind, { log: this.#log, ...options });
    this.#caches.push({ cache: cache as unknown as Cache<KubeObject>, options, isLate });
    return cache;
  }

  #assertSynced(): void {
    const { unread } = this;
    if (unread.length > 0) throw new Error(`waiting for: ${unread.join(", ")}`);
  }
}
