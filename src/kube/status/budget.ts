/**
 * A claim decides who was first, for everyone. A transition is news: the first write of an object, or a condition that flips. A refresh only keeps
 * details current.
 */
export type WriteClass = "claim" | "transition" | "refresh";

interface Limit {
  perSecond: number;
  /** How many may go at once after a quiet time. */
  burst: number;
  /** How many may be on their way at a time, so that a slow server is not given more and more. */
  inFlight: number;
}

/** Claims are under the limit of transitions. */
type Limits = Readonly<Record<Exclude<WriteClass, "claim">, Limit>>;

const LIMITS: Limits = {
  transition: { perSecond: 50, burst: 10, inFlight: 32 },
  refresh: { perSecond: 5, burst: 20, inFlight: 8 },
};

/** Leave to send one write now. One of the two must be called, once. */
export interface Leave {
  /** The write has been answered, however. */
  done(): void;
  /** There was nothing to write after all. */
  unused(): void;
}

/**
 * How much a process may write in all: one budget is shared by its status writers. A write asks first and looks at what it has to say when its turn
 * comes. Within a class the first to ask goes first; transitions go only while no claim waits, and refreshes while neither does.
 */
export class WriteBudget {
  readonly #classes: Readonly<Record<WriteClass, Queue>>;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: Limits = LIMITS) {
    const transitions = new Bucket(limits.transition);
    this.#classes = { claim: queue(transitions), transition: queue(transitions), refresh: queue(new Bucket(limits.refresh)) };
  }

  /** Rejects with the signal's reason when that comes first. */
  async admit(writeClass: WriteClass, signal: AbortSignal): Promise<Leave> {
    signal.throwIfAborted();
    const { waiting } = this.#classes[writeClass];
    return new Promise((resolve, reject) => {
      const turn = (leave: Leave) => {
        signal.removeEventListener("abort", giveUp);
        resolve(leave);
      };
      const giveUp = () => {
        waiting.delete(turn);
        reject(signal.reason as Error);
        this.#serve();
      };
      signal.addEventListener("abort", giveUp, { once: true });
      waiting.add(turn);
      this.#serve();
    });
  }

  #serve(): void {
    clearTimeout(this.#timer);
    const { claim, transition, refresh } = this.#classes;
    for (const { waiting, bucket } of [claim, transition, refresh]) {
      for (const turn of waiting) {
        if (!bucket.take()) break;
        waiting.delete(turn);
        turn(this.#leave(bucket));
      }
      if (waiting.size > 0) {
        // Without a free place there is nothing to time: an answer opens one, and that serves again.
        if (bucket.hasPlace) this.#timer = setTimeout(() => this.#serve(), bucket.msToNext);
        return;
      }
    }
  }

  #leave(bucket: Bucket): Leave {
    return {
      done: () => {
        bucket.answered();
        this.#serve();
      },
      unused: () => {
        bucket.giveBack();
        this.#serve();
      },
    };
  }
}

/** Tokens fill in fractions, whose sum may miss the whole by a rounding error. */
const WHOLE = 1 - 1e-9;

/** Those who wait for their turn, and what they take it from. */
interface Queue {
  readonly waiting: Set<(leave: Leave) => void>;
  readonly bucket: Bucket;
}

function queue(bucket: Bucket): Queue {
  return { waiting: new Set(), bucket };
}

/** A token bucket that also counts what is on its way. */
class Bucket {
  readonly #limit: Limit;
  #tokens: number;
  #filledAt = performance.now();
  #inFlight = 0;

  constructor(limit: Limit) {
    this.#limit = limit;
    this.#tokens = limit.burst;
  }

  get hasPlace(): boolean {
    return this.#inFlight < this.#limit.inFlight;
  }

  get msToNext(): number {
    return Math.ceil(((WHOLE - this.#tokens) * 1000) / this.#limit.perSecond);
  }

  take(): boolean {
    this.#fill();
    if (this.#tokens < WHOLE || !this.hasPlace) return false;
    this.#tokens -= 1;
    this.#inFlight += 1;
    return true;
  }

  answered(): void {
    this.#inFlight -= 1;
  }

  giveBack(): void {
    this.#inFlight -= 1;
    this.#tokens = Math.min(this.#limit.burst, this.#tokens + 1);
  }

  #fill(): void {
    const now = performance.now();
    this.#tokens = Math.min(this.#limit.burst, this.#tokens + ((now - this.#filledAt) * this.#limit.perSecond) / 1000);
    this.#filledAt = now;
  }
}
