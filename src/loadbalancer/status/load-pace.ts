/** The pause after a load, as a multiple of its duration. */
const PAUSES = 5;
/** Upper limit of the pause, for a machine that was suspended during a load. */
const LONGEST_MS = 10_000;

/** Limits how often the configuration is loaded during many edits: a single edit loads at once, a flood costs a small share of CPU time. */
export class LoadRateLimit {
  #notBefore = 0;

  /** Milliseconds until the next load is allowed; 0: now. */
  get waitMs(): number {
    return Math.max(0, this.#notBefore - performance.now());
  }

  run<T>(load: () => T): T {
    const since = performance.now();
    try {
      return load();
    } finally {
      const now = performance.now();
      this.#notBefore = now + Math.min(LONGEST_MS, PAUSES * (now - since));
    }
  }
}
