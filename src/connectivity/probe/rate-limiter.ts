/** Starts that come together after a quiet time. Enough to catch up with timers that are a little late, too few for a burst. */
const TOGETHER = 5;

/** Keeps starts apart, so that a moment with much to do is no burst on the wire and no queue in the process that looks like slow answers. */
export class RateLimiter {
  readonly #apartMs: number;
  /** When the next may start, if all of them had come in time. */
  #nextAt = 0;

  constructor(perSecond: number) {
    this.#apartMs = 1000 / perSecond;
  }

  /** 0 where one may start now, and counts it; otherwise how many milliseconds that takes. */
  take(): number {
    const now = performance.now();
    const earliest = Math.max(this.#nextAt, now - (TOGETHER - 1) * this.#apartMs);
    if (earliest > now) return earliest - now;
    this.#nextAt = earliest + this.#apartMs;
    return 0;
  }
}
