/** Wakes a waiter; without a waiter the next wait returns at once. */
export class WakeSignal {
  #woken = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#woken = true;
    this.#wake?.();
  }

  /** Whether it was woken before the timeout or the abort. */
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
