import type { Log } from "../../kube/log.ts";
import type { DashboardModel } from "./model.ts";

/** Whoever looks sees no two changes nearer to each other than this: what happens meanwhile is one change. */
const GAP_MS = 200;
/** Painting, and telling those who look, takes no more of the time than this: the process has other work. */
const SHARE = 0.2;
/** However long it takes, what is shown is not older than this for that reason. */
const LONGEST_GAP_MS = 5_000;
/** While nobody looks, what has piled up is worked off this often. */
const IDLE_MS = 30_000;

/** When the picture is painted: soon after something has changed, but not all the time, and hardly ever while nobody looks. */
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

  /** Counts how often it was painted. */
  get beats(): number {
    return this.#beats;
  }

  /** Makes what is painted as new as the gap allows. */
  freshen(): void {
    if (this.#model.isStale && performance.now() - this.#lastAt >= this.#gapMs) this.#beat();
  }

  /** Until it was painted after this beat, `ms` have passed, or the signal aborts. */
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

  /** Nobody asked, so nobody would hear of it: what cannot be painted must not end the process that has it painted. */
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
    // By then all who waited have been told.
    setImmediate(() => (this.#gapMs = Math.min(LONGEST_GAP_MS, Math.max(GAP_MS, (performance.now() - began) / SHARE))));
  }
}
