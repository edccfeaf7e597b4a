/** How long the pruner has looked without a break, by two clocks: one that nobody sets and the one on the wall. */
export interface ClockReading {
  /** In monotonic milliseconds, which stand still while the machine sleeps. */
  readonly steady: number;
  readonly wall: number;
  /** When the API was last heard, in monotonic milliseconds. */
  readonly heardAt: number | undefined;
}

/** An API that says nothing for this long is away: it sends a bookmark every minute. */
const LONGEST_QUIET_MS = 180_000;
/** Who did not look for this long was asleep. */
const LONGEST_GAP_MS = 180_000;
/** A clock on the wall that moves by this much more or less than the other was set. */
const LARGEST_STEP_MS = 60_000;

export class ObservationWindow {
  #last: ClockReading | undefined;
  #since = 0;

  /** Since when, in monotonic milliseconds, the view has been whole. */
  observe(moment: ClockReading): number {
    const { steady, wall, heardAt = -Infinity } = moment;
    const [slept, moved] = this.#last ? [steady - this.#last.steady, wall - this.#last.wall] : [Infinity, 0];
    const isBroken = slept > LONGEST_GAP_MS || Math.abs(moved - slept) > LARGEST_STEP_MS || steady - heardAt > LONGEST_QUIET_MS;
    if (isBroken) this.#since = steady;
    this.#last = moment;
    return this.#since;
  }
}
