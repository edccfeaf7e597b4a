import { isDeepStrictEqual } from "node:util";
import { keyOf, type Kind, type KubeObject } from "../../api/kind.ts";
import type { Cache, Change } from "../cache/cache.ts";
import type { Runnable } from "../controller/controller.ts";
import { aborted, finishesWithin } from "../../util/deadline.ts";
import type { Log } from "../log.ts";
import { statusConflicts, statusErrors, statusPending, statusSuppressed, statusWrites } from "../metrics.ts";
import type { WritePermit, WriteBudget, WriteClass } from "./budget.ts";
import { StatusEntry, isDamped } from "./entry.ts";
import { withoutNulls } from "./merge-patch.ts";
import {
  hasMetadata,
  plan,
  planDeletion,
  sameOfKind,
  type DesiredStatus,
  type StatusOf,
  type StatusRules,
  type StatusRequest,
} from "./plan.ts";
import { StatusRequests, type StatusClient } from "./requests.ts";
import { retryPolicy } from "./retry-policy.ts";

export interface StatusWriterOptions<T extends KubeObject> extends StatusRules<T> {
  client: { resource(kind: Kind<T>): StatusClient<T> };
  cache: Pick<Cache<T>, "get" | "synced" | "waitForSync" | "subscribe" | "onConnection">;
  /** Shared by all writers of the process. */
  budget: WriteBudget;
  log: Log;
}

/** How long the last statuses are retried at shutdown. */
const FLUSH_MS = 5_000;

/** So many repairs in a row mean another program, not a person. */
const FIGHT = 3;

/**
 * Keeps the status of a kind's objects at the last reported value. It writes only differences, so it may be called with the same value as
 * often as needed, and it reverts foreign changes.
 */
export class StatusWriter<T extends KubeObject> implements Runnable {
  readonly name: string;
  readonly #options: StatusWriterOptions<T>;
  readonly #requests: StatusRequests<T>;
  readonly #same: (stored: StatusOf<T> | undefined, next: StatusOf<T>) => boolean;
  readonly #entries = new Map<string, StatusEntry<T>>();
  readonly #drives = new Set<Promise<void>>();
  #over = new AbortController();
  #phase: "waiting" | "writing" | "flushing" = "waiting";

  constructor(options: StatusWriterOptions<T>) {
    this.name = `status of ${options.kind.kind}`;
    this.#options = options;
    this.#same = sameOfKind(options.kind);
    this.#requests = new StatusRequests(options.client.resource(options.kind), options.cache, this.#same);
  }

  set(key: string, desired: DesiredStatus<T>): void {
    const entry = this.#entry(key);
    const { status } = desired;
    const copy: DesiredStatus<T> = { ...desired, status: typeof status === "function" ? status : withoutNulls(status) };
    const news = !isDeepStrictEqual(copy, entry.picture);
    entry.picture = copy;
    entry.mine = undefined;
    entry.isSet = true;
    this.#wake(entry, { news });
  }

  /** The object is no longer reported, and stays as it is. */
  forget(key: string): void {
    const entry = this.#entry(key);
    entry.picture = undefined;
    entry.mine = undefined;
    this.#wake(entry, { news: true });
  }

  /** Deletes the object unless it is not ours any more: by default, unless it lost our labels and annotations. */
  delete(key: string, mine?: (object: T) => boolean): void {
    const entry = this.#entry(key);
    const given = entry.picture?.create?.metadata ?? {};
    entry.mine = mine ?? ((object) => hasMetadata(object.metadata, given));
    entry.picture = undefined;
    this.#wake(entry, { news: true });
  }

  /** Until the signal aborts; then the last statuses are written, within a few seconds. May run again, with nothing to report. */
  async run(signal: AbortSignal): Promise<void> {
    const { cache } = this.#options;
    this.#over = new AbortController();
    const unsubscribe = cache.subscribe((change) => this.#onChange(change));
    const disconnect = cache.onConnection((state) => {
      if (state === "connected") this.#reconnect();
    });
    try {
      const end = aborted(signal);
      await cache.waitForSync(signal).catch(() => end);
      if (!signal.aborted) this.#enter("writing");
      await end;
      await this.#flush();
    } finally {
      unsubscribe();
      disconnect();
      for (const entry of this.#entries.values()) this.#markPending(entry, false);
      this.#entries.clear();
      this.#phase = "waiting";
    }
  }

  async #flush(): Promise<void> {
    this.#enter("flushing");
    await finishesWithin(FLUSH_MS, this.#idle());
    this.#over.abort();
    for (const entry of this.#entries.values()) {
      entry.wake("end");
      entry.turn?.giveUp.abort();
    }
    await this.#idle();
    const unwritten = [...this.#entries.values()].filter(({ pending }) => pending).map(({ key }) => key);
    if (unwritten.length > 0) this.#options.log.warn({ kind: this.#options.kind.kind, unwritten }, "final status not written");
  }

  async #idle(): Promise<void> {
    while (this.#drives.size > 0) await Promise.all(this.#drives);
  }

  #enter(phase: "writing" | "flushing"): void {
    this.#phase = phase;
    for (const entry of this.#entries.values()) {
      // Without a synced cache the server is asked.
      entry.doubt ||= !this.#options.cache.synced;
      // The last seconds are short: earlier failures do not delay the flush.
      entry.failures = 0;
      entry.wake("end");
      this.#wake(entry, { news: true });
    }
  }

  #entry(key: string): StatusEntry<T> {
    const entry = this.#entries.get(key) ?? new StatusEntry<T>(key, this.#same);
    this.#entries.set(key, entry);
    return entry;
  }

  #onChange(change: Change<T>): void {
    const entry = this.#entries.get(keyOf(change.object));
    if (!entry) return;
    entry.hear(change, this.#options.cache.get(entry.key));
    this.#wake(entry, { news: false });
  }

  #reconnect(): void {
    for (const entry of this.#entries.values()) {
      entry.hearAll(this.#options.cache.get(entry.key));
      entry.wake("connection");
      if (entry.doubt || entry.spent) this.#wake(entry, { news: false });
    }
  }

  /** Each entry has at most one driver. */
  #wake(entry: StatusEntry<T>, { news }: { news: boolean }): void {
    entry.stirred = true;
    if (news) entry.wake("picture");
    if (entry.turn?.writeClass === "refresh" && this.#isTransition(entry)) entry.turn.giveUp.abort();
    if (entry.driving || this.#phase === "waiting") return;
    entry.driving = true;
    const drive = Promise.resolve()
      .then(() => this.#drive(entry))
      .finally(() => this.#drives.delete(drive));
    this.#drives.add(drive);
  }

  async #drive(entry: StatusEntry<T>): Promise<void> {
    while (entry.stirred && !this.#over.signal.aborted) {
      entry.setOut();
      try {
        await this.#converge(entry);
        this.#markPending(entry, false);
      } catch (error) {
        if (this.#over.signal.aborted) break;
        entry.stirred = await this.#recover(entry, error);
      }
    }
    entry.driving = false;
    if (entry.spent) this.#entries.delete(entry.key);
  }

  /** Step by step, until the stored status is equal. */
  async #converge(entry: StatusEntry<T>): Promise<void> {
    for (;;) {
      this.#over.signal.throwIfAborted();
      while (entry.doubt) await this.#requests.observe(entry, this.#over.signal);
      const step = this.#next(entry);
      if (!step) break;

      const patience = this.#phase === "flushing" ? 0 : entry.patience(step);
      // A damped write is not pending.
      this.#markPending(entry, !(patience > 0 && isDamped(step)));
      if (patience > 0) {
        await entry.pause(patience, "picture");
        continue;
      }
      const leave = await this.#turn(entry, this.#classOf(step));
      if (!leave) continue;
      // While it waited, the desired or the stored status may have changed.
      const replanned = entry.doubt ? undefined : this.#next(entry);
      if (replanned && this.#classOf(replanned) === this.#classOf(step)) await this.#send(entry, replanned).finally(() => leave.done());
      else leave.unused();
    }
    if (!entry.picture) entry.mine = undefined;
    if (entry.isSet) statusSuppressed.inc({ kind: this.#options.kind.kind });
    entry.isSet = false;
  }

  #next(entry: StatusEntry<T>): StatusRequest<T> | undefined {
    const stored = entry.newest(this.#options.cache.get(entry.key));
    if (entry.picture) return plan(entry.key, entry.picture, stored, this.#options, new Date());
    return entry.mine && planDeletion(stored, entry.mine);
  }

  #isTransition(entry: StatusEntry<T>): boolean {
    try {
      const step = this.#next(entry);
      return step !== undefined && this.#classOf(step) === "transition";
    } catch {
      // The driver fails the same way, and reports it.
      return false;
    }
  }

  /** The flush does not wait behind refreshes. */
  #classOf({ news }: StatusRequest<T>): WriteClass {
    return news === "refresh" && this.#phase !== "flushing" ? "refresh" : "transition";
  }

  async #turn(entry: StatusEntry<T>, writeClass: WriteClass): Promise<WritePermit | undefined> {
    const giveUp = new AbortController();
    entry.turn = { writeClass, giveUp };
    try {
      return await this.#options.budget.admit(writeClass, giveUp.signal);
    } catch {
      return undefined;
    } finally {
      entry.turn = undefined;
    }
  }

  async #send(entry: StatusEntry<T>, step: StatusRequest<T>): Promise<void> {
    const { kind, log } = this.#options;
    await this.#requests.send(entry, step, this.#over.signal);
    const repairs = entry.succeed(step);
    if (step.do !== "delete") statusWrites.inc({ kind: kind.kind, class: step.news });
    if (repairs === FIGHT) log.warn({ kind: kind.kind, key: entry.key }, "another writer keeps changing this object");
  }

  /** Waits according to the failure. False: a retry is pointless. */
  async #recover(entry: StatusEntry<T>, error: unknown): Promise<boolean> {
    const { kind, log } = this.#options;
    entry.failures += 1;
    const { code, reread, severity, pauses } = retryPolicy(error, entry.failures);
    entry.doubt ||= reread;
    if (code === "Conflict") statusConflicts.inc({ kind: kind.kind });
    else statusErrors.inc({ kind: kind.kind, code });
    const fields = { kind: kind.kind, key: entry.key, error };
    if (severity === "hopeless") log.error(fields, "status rejected");
    else if (severity === "passing" && entry.failures === 1) log.warn(fields, "status not written, retrying");

    if (severity === "hopeless" && this.#phase === "flushing") return false;
    for (const { ms, waker } of pauses) {
      await entry.pause(ms, waker);
      if (this.#phase === "flushing") break;
    }
    return true;
  }

  #markPending(entry: StatusEntry<T>, pending: boolean): void {
    if (entry.pending === pending) return;
    entry.pending = pending;
    statusPending.inc({ kind: this.#options.kind.kind }, pending ? 1 : -1);
  }
}
