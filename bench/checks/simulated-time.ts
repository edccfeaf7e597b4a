interface Timer {
  at: number;
  /** Of two for the same moment the older one goes first. */
  id: number;
  callback: (() => void) | undefined;
}

/** Replaces the clock of this process: it moves only on request, from timer to timer. */
export class SimulatedTime {
  readonly #timers: Timer[] = [];
  readonly #startedAt: number;
  #elapsed = 0;
  #ids = 0;

  constructor(startsAt: Date) {
    this.#startedAt = startsAt.getTime();
    const now = () => this.now;
    const RealDate = Date;
    class SimulatedDate extends RealDate {
      constructor(...given: [] | [string | number | Date]) {
        super(given.length === 0 ? now() : given[0]);
      }
      static override now = now;
    }
    Object.assign(globalThis, {
      Date: SimulatedDate,
      setTimeout: (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => this.#set(() => callback(...args), ms),
      clearTimeout: (timer: Timer | undefined) => {
        if (timer) timer.callback = undefined;
      },
    });
    performance.now = () => this.#elapsed;
  }

  get now(): number {
    return Math.floor(this.#startedAt + this.#elapsed);
  }

  /** Everything that is to happen in so many milliseconds happens. */
  pass(ms: number): Promise<void> {
    const until = this.#elapsed + ms;
    return new Promise((resolve) => {
      const step = (): void => {
        const timer = this.#next(until);
        if (!timer) {
          this.#elapsed = until;
          resolve();
          return;
        }
        this.#elapsed = Math.max(this.#elapsed, timer.at);
        timer.callback?.();
        stepLater();
      };
      // The next step comes after every promise that this one has settled, and every one that those settle.
      const stepLater = () => queueMicrotask(() => process.nextTick(step));
      stepLater();
    });
  }

  #set(callback: () => void, ms: number): Timer {
    const timer = { at: this.#elapsed + Math.max(1, ms), id: this.#ids++, callback };
    this.#timers.push(timer);
    this.#rise(this.#timers.length - 1);
    return timer;
  }

  /** Takes the next timer up to that moment off the heap. */
  #next(until: number): Timer | undefined {
    for (;;) {
      const [first] = this.#timers;
      if (!first || (first.callback && first.at > until)) return undefined;
      const last = this.#timers.pop();
      if (last && last !== first) {
        this.#timers[0] = last;
        this.#sink();
      }
      if (first.callback) return first;
    }
  }

  #rise(at: number): void {
    for (let child = at; child > 0;) {
      const parent = (child - 1) >> 1;
      if (!this.#swapUnlessOrdered(parent, child)) return;
      child = parent;
    }
  }

  #sink(): void {
    for (let parent = 0; ;) {
      const [left, right] = [2 * parent + 1, 2 * parent + 2];
      const child = this.#isBefore(right, left) ? right : left;
      if (!this.#swapUnlessOrdered(parent, child)) return;
      parent = child;
    }
  }

  #swapUnlessOrdered(parent: number, child: number): boolean {
    const [above, below] = [this.#timers[parent], this.#timers[child]];
    if (!above || !below || !this.#isBefore(child, parent)) return false;
    this.#timers[parent] = below;
    this.#timers[child] = above;
    return true;
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#timers[one], this.#timers[other]];
    return a !== undefined && b !== undefined && (a.at < b.at || (a.at === b.at && a.id < b.id));
  }
}
