/** Wakes who waits at it. Rung while nobody waits, it wakes the next at once. */
export class Doorbell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Whether it rang before the time was up, or it was aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#rung && !signal.aborted) {
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
    const rung = this.#rung;
    this.#rung = false;
    return rung;
  }
}
