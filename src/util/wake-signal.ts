/** Wakes who waits at it. Rung while nobody waits, it wakes the next at once. */
export class WakeSignal {
  #woken = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#woken = true;
    this.#wake?.();
  }

  /** Whether it rang before the time was up, or it was aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#woken && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = () => resolve();
      this.#wake = wake;
      const timer = setTimeout(wake, ms);
      signal.addEventListener("abort", wake, { once: true });
      await promise;
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      this.#wake = undefined;
    }
    const rung = this.#woken;
    this.#woken = false;
    return rung;
  }
}
