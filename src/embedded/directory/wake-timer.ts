/** Sleeps until a time, or until it is rung. */
export class WakeTimer {
  #wake: (() => void) | undefined;
  #woken = false;

  ring(): void {
    this.#woken = true;
    this.#wake?.();
  }

  /** `until` is a performance.now(). Comes back when the signal aborts, too. */
  async sleep(until: number, signal: AbortSignal): Promise<void> {
    if (this.#woken || signal.aborted) {
      this.#woken = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(Math.max(0, Math.ceil(until - performance.now())), 2 ** 31 - 1));
      signal.addEventListener("abort", wake);
      this.#wake = wake;
    });
    this.#woken = false;
  }
}
