import type { Log } from "../../kube/log.ts";
import type { DashboardModel } from "./model.ts";

/** The minimum time between two refreshes. */
const GAP_MS = 200;
/** The maximum share of CPU time for refreshes. */
const SHARE = 0.2;
/** The maximum time between two refreshes. */
const LONGEST_GAP_MS = 5_000;
/** The interval of refreshes without readers. */
const IDLE_MS = 30_000;

/** Refreshes the model soon after a change, at a limited rate, and rarely without readers. */
export class RefreshTimer {
  readonly #model: DashboardModel;
  readonly #log: Pick<Log, "error">;
  readonly #waiting = new Set<() => void>();
  readonly #stopListening: () => void;
  #beats = 0;
  #lastAt = -Infinity;
  #gapMs = GAP_MS;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;

  constructor(model: DashboardModel, log: Pick<Log, "error">) {
    this.#model = model;
    this.#log = log;
    this.#stopListening = model.onStale(() => this.#schedule());
  }

  /** The number of refreshes. */
  get beats(): number {
    return this.#beats;
  }

  /** Refreshes now, if the minimum time has passed. */
  freshen(): void {
    if (this.#model.isStale && performance.now() - this.#lastAt >= this.#gapMs) this.#beat();
  }

  /** Until the refresh after this one, `ms` have passed, or the signal aborts. */
  next(after: number, ms: number, signal: AbortSignal): Promise<void> {
    if (this.#beats > after || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener("abort", end);
      this.#waiting.add(end);
      if (this.#model.isStale) this.#schedule();
    });
  }

  stop(): void {
    this.#stopListening();
    clearTimeout(this.#timer);
    for (const end of this.#waiting) end();
  }

  #schedule(): void {
    const now = performance.now();
    const due = this.#waiting.size > 0 ? Math.max(now, this.#lastAt + this.#gapMs) : now + IDLE_MS;
    if (this.#timer && this.#dueAt <= due) return;
    clearTimeout(this.#timer);
    this.#dueAt = due;
    this.#timer = setTimeout(() => this.#attempt(), due - now);
    this.#timer.unref();
  }

  /** Without a caller an error must not end the process. */
  #attempt(): void {
    try {
      this.#beat();
    } catch (error) {
      this.#log.error({ error }, "cannot rebuild the page");
    }
  }

  #beat(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const began = performance.now();
    this.#lastAt = began;
    this.#beats += 1;
    this.#model.refresh();
    for (const end of this.#waiting) end();
    setImmediate(() => (this.#gapMs = Math.min(LONGEST_GAP_MS, Math.max(GAP_MS, (performance.now() - began) / SHARE))));
  }
}
