const TICK_MS = 100;
/** Timers are always a little late. */
const USUAL_MS = 20;

interface StallWatch {
  /** For how long it stood still since the watch began. */
  ms(): number;
  /** To be called once. */
  end(): void;
}

/** Measures how long the process stood still, at times when somebody wants to know. What is timed while it stood says nothing about the network. */
export class Stalls {
  #watchers = 0;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #stalledMs = 0;

  /** Measures from now on. */
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
