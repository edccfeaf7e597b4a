import { randomUUID } from "node:crypto";
import type { Log } from "../log.ts";
import { reconcileTimeouts, reconciles, reconcilesActive } from "../metrics.ts";
import { aborted, finishesWithin } from "../../util/deadline.ts";
import { WorkQueue } from "./queue.ts";
import type { Source } from "./source.ts";

/** Runs until its signal aborts, and ends after finishing its work. */
export interface Runnable {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

export interface ReconcileContext {
  /** Aborts with a ReconcileError: on timeout, or when the controller ends. */
  signal: AbortSignal;
  /** Carries controller, key and reconcileId. */
  log: Log;
  reconcileId: string;
}

/** Nothing, or after how many milliseconds to reconcile again. */
export type Result = { requeueAfter: number } | void;

export interface ControllerOptions {
  watches: readonly Source[];
  reconcile(key: string, context: ReconcileContext): Promise<Result>;
  log: Log;
  workers?: number;
  timeoutMs?: number;
  /** The interval at which all keys of all sources are reconciled again, with low priority. */
  resyncMs?: number;
}

/** Cannot succeed until something changes: counted and logged, but not retried. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

/** Timeout: the reconcile ran too long. Cut: the controller had to end. Stuck: a reconcile did not end even then. */
export class ReconcileError extends Error {
  override readonly name = "ReconcileError";
  readonly code: "Timeout" | "Cut" | "Stuck";

  constructor(code: ReconcileError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

type Outcome =
  | { is: "success" }
  | { is: "requeue_after"; ms: number }
  | { is: "error"; error: unknown }
  | { is: "terminal_error"; error: TerminalError };

/** How long running reconciles may continue at shutdown; then their signals abort. */
const GRACE_MS = 15_000;
/** How long they may take after that; then the controller ends without them. */
const LAST_MS = 2_000;
/** How long reconciles may run without a pause before timers, sockets and the Lease's renewal get a turn. */
const SLICE_MS = 10;
/** The real one, also with fake timers. */
const { setImmediate: afterOthers } = globalThis;

/** `controller("beacon", { watches: [changesOf(beacons)], reconcile, log })`. */
export function controller(name: string, options: ControllerOptions): Controller {
  return new Controller(name, options);
}

export class Controller implements Runnable {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #timeoutMs: number;
  readonly #log: Log;
  readonly #running = new Map<string, AbortController>();
  /** The current run of reconciles without a pause, and its end. */
  #slice: { readonly since: number; readonly end: Promise<void> } | undefined;

  constructor(name: string, options: ControllerOptions) {
    this.name = name;
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#log = options.log.child({ controller: name });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { watches, workers = 1 } = this.#options;
    const queue = new WorkQueue(this.name);
    const stopListening = this.#listen(queue);
    try {
      await Promise.all(watches.map(async (source) => await source.ready?.(signal)));
      this.#log.info({ workers }, "controller started");
      const work = Promise.all(Array.from({ length: workers }, () => this.#work(queue, signal)));
      await Promise.race([work, this.#drained(work, signal)]);
      this.#log.info("controller ended");
    } catch (error) {
      if (error !== signal.reason) throw error;
    } finally {
      stopListening();
      queue.shutDown();
    }
  }

  #listen(queue: WorkQueue): () => void {
    const { watches, resyncMs } = this.#options;
    const subscriptions = watches.map((source) => source.subscribe((key, options) => queue.add(key, options)));
    let timer: NodeJS.Timeout | undefined;
    const resync = () => {
      // Deduplicated: an idle worker takes the first at once, and would run again for the second.
      const keys = new Set(watches.flatMap((source) => Array.from(source.keys?.() ?? [])));
      for (const key of keys) queue.add(key, { priority: "low" });
      planResync();
    };
    const planResync = () => {
      if (resyncMs !== undefined) timer = setTimeout(resync, resyncMs * (0.9 + Math.random() / 5));
    };
    planResync();
    return () => {
      clearTimeout(timer);
      for (const unsubscribe of subscriptions) unsubscribe();
    };
  }

  /** Resolves when the last reconcile has ended after the abort; throws if one does not. */
  async #drained(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
    await aborted(signal);
    if (await finishesWithin(GRACE_MS, work)) return;
    for (const reconcile of this.#running.values()) {
      reconcile.abort(new ReconcileError("Cut", `The reconcile ran ${GRACE_MS / 1000} s after the controller was stopped`));
    }
    if (await finishesWithin(LAST_MS, work)) return;
    const keys = [...this.#running.keys()].join(", ");
    throw new ReconcileError("Stuck", `Controller ${this.name} stopped without waiting for ${keys}: these reconciles ignore their signal`);
  }

  async #work(queue: WorkQueue, signal: AbortSignal): Promise<void> {
    for (;;) {
      const key = await queue.next(signal);
      // A key that was taken in the moment of the abort is left to the next process.
      if (key === undefined || signal.aborted) return;
      await this.#reconcile(key, queue);
      queue.done(key);
      if (queue.depth > 0) await this.#letOthers();
    }
  }

  async #letOthers(): Promise<void> {
    if (!this.#slice) {
      const { promise: end, resolve } = Promise.withResolvers<void>();
      this.#slice = { since: performance.now(), end };
      afterOthers(() => {
        this.#slice = undefined;
        resolve();
      });
    }
    if (performance.now() - this.#slice.since > SLICE_MS) await this.#slice.end;
  }

  async #reconcile(key: string, queue: WorkQueue): Promise<void> {
    const reconcileId = randomUUID();
    const log = this.#log.child({ key, reconcileId });
    const outcome = await this.#outcome(key, { log, reconcileId });
    reconciles.inc({ controller: this.name, outcome: outcome.is });
    switch (outcome.is) {
      case "success":
        queue.forget(key);
        log.debug("reconciled");
        return;
      case "requeue_after":
        queue.forget(key);
        queue.addAfter(key, outcome.ms);
        log.debug({ requeueAfterMs: outcome.ms }, "reconciled, requeued");
        return;
      case "error":
        log.warn({ error: outcome.error, retryInMs: queue.addRateLimited(key) }, "reconcile failed");
        return;
      case "terminal_error":
        queue.forget(key);
        log.error({ error: outcome.error }, "reconcile failed, no retry until something changes");
        return;
    }
  }

  async #outcome(key: string, context: Omit<ReconcileContext, "signal">): Promise<Outcome> {
    const abort = new AbortController();
    const limit = setTimeout(() => {
      reconcileTimeouts.inc({ controller: this.name });
      context.log.warn({ timeoutMs: this.#timeoutMs }, "reconcile timed out, stopping it");
      abort.abort(new ReconcileError("Timeout", `The reconcile took longer than ${this.#timeoutMs / 1000} s`));
    }, this.#timeoutMs);
    this.#running.set(key, abort);
    reconcilesActive.inc({ controller: this.name });
    try {
      const result = await this.#options.reconcile(key, { ...context, signal: abort.signal });
      if (!result) return { is: "success" };
      if (!Number.isFinite(result.requeueAfter))
        throw new TypeError(`requeueAfter is ${result.requeueAfter}, not a number of milliseconds`);
      return { is: "requeue_after", ms: result.requeueAfter };
    } catch (error) {
      return error instanceof TerminalError
        ? { is: "terminal_error", error }
        : { is: "error", error: withAbortReason(error, abort.signal) };
    } finally {
      clearTimeout(limit);
      this.#running.delete(key);
      reconcilesActive.dec({ controller: this.name });
    }
  }
}

/** An error after the abort is reported as the reason of the abort. */
function withAbortReason(error: unknown, signal: AbortSignal): unknown {
  const reason: unknown = signal.reason;
  if (!(reason instanceof ReconcileError) || error === reason) return error;
  return new ReconcileError(reason.code, reason.message, { cause: error });
}
