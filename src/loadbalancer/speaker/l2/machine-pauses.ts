/** What the two clocks may drift apart without a pause between two looks. */
const SLACK_MS = 2_000;

/** Finds out that a VM was paused or a machine slept: then the wall clock goes on, and the monotonic clock and all timers stand still. */
export class MachinePauses {
  #ahead = aheadMs();

  /** How long it was paused since this was last asked. A clock that is set forward looks the same; one that is set back is no pause. */
  since(): number {
    const before = this.#ahead;
    this.#ahead = aheadMs();
    const pausedMs = this.#ahead - before;
    return pausedMs > SLACK_MS ? pausedMs : 0;
  }
}

/** By how much the wall clock is ahead of the monotonic one. */
function aheadMs(): number {
  return Date.now() - performance.now();
}
