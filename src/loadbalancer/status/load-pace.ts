/** As many times as long as a look took is the pause after it. */
const PAUSES = 5;
/** So that nobody waits for ever behind a machine that stood still. */
const LONGEST_MS = 10_000;

/** How often all of the configuration is looked at while many write it: a single edit is seen at once, and a flood of them costs a small part of the time. */
export class LoadPace {
  #notBefore = 0;

  /** In how many milliseconds it may be looked at; 0: now. */
  get waitMs(): number {
    return Math.max(0, this.#notBefore - performance.now());
  }

  run<T>(look: () => T): T {
    const since = performance.now();
    try {
      return look();
    } finally {
      const now = performance.now();
      this.#notBefore = now + Math.min(LONGEST_MS, PAUSES * (now - since));
    }
  }
}
