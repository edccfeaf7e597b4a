import { backoffMs, type BackoffRange } from "../../util/backoff.ts";
import { queueAdds, queueDepth, queueLatencySeconds, queueRetries, queueWorkSeconds } from "../metrics.ts";

/** Low is for what may wait: the objects found at start-up, and resyncs. */
export type Priority = "normal" | "low";

/** Keys of normal priority that may pass a waiting one of low priority. */
const PASSES = 8;

const RETRY: BackoffRange = { minMs: 5, maxMs: 300_000 };

/** setTimeout fires at once for longer delays; waking early costs one idle reconcile in 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface Running {
  since: number;
  priority: Priority;
  again?: Priority;
}

interface Delayed {
  due: number;
  priority: Priority;
  timer: NodeJS.Timeout;
}

/**
 * Keys waiting for a worker, as in client-go's workqueue. A key is processed by at most one worker; added while it waits it keeps its
 * position; added while it runs it is queued again after `done`.
 */
export class WorkQueue {
  readonly #waiting: Record<Priority, Map<string, number>> = { normal: new Map(), low: new Map() };
  readonly #running = new Map<string, Running>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #failures = new Map<string, number>();
  readonly #idle = new Set<(key: string | undefined) => void>();
  readonly #metrics;
  #passed = 0;
  #closed = false;

  constructor(name: string) {
    this.#metrics = {
      depth: { normal: queueDepth.labels(name, "normal"), low: queueDepth.labels(name, "low") },
      adds: queueAdds.labels(name),
      retries: queueRetries.labels(name),
      latency: queueLatencySeconds.labels(name),
      work: queueWorkSeconds.labels(name),
    };
  }

  /** Without running and delayed keys. */
  get depth(): number {
    return this.#waiting.normal.size + this.#waiting.low.size;
  }

  add(key: string, { priority = "normal" }: { priority?: Priority } = {}): void {
    if (this.#closed) return;
    const running = this.#running.get(key);
    if (running) {
      running.again = higher(priority, running.again);
      return;
    }
    const { normal, low } = this.#waiting;
    if (normal.has(key) || (low.has(key) && priority === "low")) return;
    const since = low.get(key);
    if (since === undefined) this.#metrics.adds.inc();
    else low.delete(key);
    this.#waiting[priority].set(key, since ?? performance.now());
    this.#assign();
  }

  /** Adds the key after a delay. The earliest of several applies. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return;
    // With the priority it ran with, so that a thousand failing objects of the start do not pass current changes.
    const priority = this.#running.get(key)?.priority ?? "normal";
    if (!(ms > 0)) {
      this.add(key, { priority });
      return;
    }
    const planned = this.#delayed.get(key);
    const due = performance.now() + ms;
    if (planned && planned.due <= due) {
      planned.priority = higher(priority, planned.priority);
      return;
    }
    clearTimeout(planned?.timer);
    const timer = setTimeout(() => this.#ripen(key), Math.min(ms, LONGEST_TIMER_MS));
    this.#delayed.set(key, { due, priority: higher(priority, planned?.priority), timer });
  }

  /** Adds the key after its backoff, which doubles with each call until `forget`. Returns the wait in milliseconds. */
  addRateLimited(key: string): number {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    this.#metrics.retries.inc();
    const ms = backoffMs(failures, RETRY);
    this.addAfter(key, ms);
    return ms;
  }

  /** Resets the backoff of the key. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Resolves with the next key; undefined when the signal aborts or the queue is shut down. Each key must be returned with `done`. */
  async next(signal: AbortSignal): Promise<string | undefined> {
    if (this.#closed || signal.aborted) return undefined;
    const key = this.#take();
    if (key !== undefined) return key;
    return await new Promise((resolve) => {
      const resume = (key: string | undefined) => {
        this.#idle.delete(resume);
        signal.removeEventListener("abort", stop);
        resolve(key);
      };
      const stop = () => resume(undefined);
      signal.addEventListener("abort", stop);
      this.#idle.add(resume);
    });
  }

  done(key: string): void {
    const running = this.#running.get(key);
    if (!running) return;
    this.#running.delete(key);
    this.#metrics.work.observe((performance.now() - running.since) / 1000);
    if (running.again) this.add(key, { priority: running.again });
  }

  /** Waiting keys are dropped: the next process sees the same objects. */
  shutDown(): void {
    this.#closed = true;
    for (const { timer } of this.#delayed.values()) clearTimeout(timer);
    this.#delayed.clear();
    this.#failures.clear();
    for (const priority of ["normal", "low"] as const) {
      this.#waiting[priority].clear();
      this.#metrics.depth[priority].set(0);
    }
    for (const resume of this.#idle) resume(undefined);
  }

  #ripen(key: string): void {
    const delayed = this.#delayed.get(key);
    if (!delayed) return;
    this.#delayed.delete(key);
    this.add(key, { priority: delayed.priority });
  }

  #assign(): void {
    for (const resume of this.#idle) {
      const key = this.#take();
      if (key === undefined) break;
      resume(key);
    }
    for (const priority of ["normal", "low"] as const) this.#metrics.depth[priority].set(this.#waiting[priority].size);
  }

  #take(): string | undefined {
    const { normal, low } = this.#waiting;
    const priority = normal.size > 0 && (low.size === 0 || this.#passed < PASSES) ? "normal" : "low";
    const [first] = this.#waiting[priority];
    if (!first) return undefined;
    const [key, since] = first;
    this.#waiting[priority].delete(key);
    this.#metrics.depth[priority].set(this.#waiting[priority].size);
    this.#passed = priority === "normal" && low.size > 0 ? this.#passed + 1 : 0;
    const now = performance.now();
    this.#running.set(key, { since: now, priority });
    this.#metrics.latency.observe((now - since) / 1000);
    return key;
  }
}

function higher(a: Priority, b: Priority | undefined): Priority {
  return a === "normal" || b === "normal" ? "normal" : "low";
}
