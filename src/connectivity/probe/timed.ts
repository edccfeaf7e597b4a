import { withDeadline, type Task } from "../../util/deadline.ts";

const TICK_MS = 100;
/** Timers are always a little late. */
const USUAL_MS = 20;

interface StallWatch {
  /** How long it was blocked since the watch began. */
  ms(): number;
  /** Call once. */
  end(): void;
}

/** Measures how long the process was blocked: a latency measured meanwhile says nothing about the network. */
class Stalls {
  #watchers = 0;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #stalledMs = 0;

  watch(): StallWatch {
    if (this.#watchers === 0) this.#tick();
    this.#watchers += 1;
    const before = this.#stalledMs + this.#late();
    return {
      ms: () => this.#stalledMs + this.#late() - before,
      end: () => {
        this.#watchers -= 1;
        if (this.#watchers === 0) clearTimeout(this.#timer);
      },
    };
  }

  #tick(): void {
    this.#dueAt = performance.now() + TICK_MS;
    this.#timer = setTimeout(() => {
      this.#stalledMs += this.#late();
      this.#tick();
    }, TICK_MS);
  }

  #late(): number {
    const late = performance.now() - this.#dueAt;
    return late > USUAL_MS ? late : 0;
  }
}

interface Timed<T, R> {
  readonly task: T;
  /** `late` after the deadline; `stalled` if the process itself was blocked for so long that the result is void. */
  readonly result: R | "late" | "stalled";
  /** Wall clock at the start. */
  readonly at: number;
  readonly latencyMs: number;
}

const stalls = new Stalls();

/** Waits for a task until its deadline. Throws the signal's reason if it aborts first. */
export async function timed<R, T extends Task<R>>(start: () => T & Task<R>, ms: number, signal: AbortSignal): Promise<Timed<T, R>> {
  const at = Date.now();
  const began = performance.now();
  const stalled = stalls.watch();
  try {
    const task = start();
    const result = await withDeadline<R>(task, ms, signal);
    const latencyMs = performance.now() - began;
    // In half of the time a SYN is sent twice.
    return { task, result: result === "late" && stalled.ms() > ms / 2 ? "stalled" : result, at, latencyMs };
  } finally {
    stalled.end();
  }
}
