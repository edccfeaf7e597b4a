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
export class Stalls {
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
