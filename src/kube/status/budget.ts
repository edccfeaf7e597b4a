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
export interface WritePermit {
  /** The write has been answered, however. */
  done(): void;
  /** There was nothing to write after all. */
  unused(): void;
}

/** So many claims in a row go before a transition that waits: many of them at once would hold up for minutes what else is news. */
const CLAIMS_AHEAD = 4;

/**
 * How much a process may write in all: one budget is shared by its status writers. A write asks first and looks at what it has to say when its turn
 * comes. Within a class the first to ask goes first; claims go before transitions but leave them every fifth turn, and refreshes go only while neither waits.
 */
export class WriteBudget {
  readonly #waiting: Readonly<Record<WriteClass, Waiting>> = { claim: new Set(), transition: new Set(), refresh: new Set() };
  readonly #transitions: Bucket;
  readonly #refreshes: Bucket;
  /** How many have gone in a row while a transition waited. */
  #claimsAhead = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: Limits = LIMITS) {
    this.#transitions = new Bucket(limits.transition);
    this.#refreshes = new Bucket(limits.refresh);
  }

  /** Rejects with the signal's reason when that comes first. */
  async admit(writeClass: WriteClass, signal: AbortSignal): Promise<WritePermit> {
    signal.throwIfAborted();
    const waiting = this.#waiting[writeClass];
    return new Promise((resolve, reject) => {
      const turn = (leave: WritePermit) => {
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
    const { claim, transition, refresh } = this.#waiting;
    while (claim.size > 0 || transition.size > 0) {
      const isClaim = claim.size > 0 && (transition.size === 0 || this.#claimsAhead < CLAIMS_AHEAD);
      if (!this.#serveNext(isClaim ? claim : transition, this.#transitions)) return;
      this.#claimsAhead = isClaim && transition.size > 0 ? this.#claimsAhead + 1 : 0;
    }
    while (refresh.size > 0) if (!this.#serveNext(refresh, this.#refreshes)) return;
  }

  /** Returns whether there was leave for one. */
  #serveNext(waiting: Waiting, bucket: Bucket): boolean {
    if (!bucket.take()) {
      // Without a free place there is nothing to time: an answer opens one, and that serves again.
      if (bucket.hasCapacity) this.#timer = setTimeout(() => this.#serve(), bucket.msToNext);
      return false;
    }
    const [turn] = waiting;
    if (turn) {
      waiting.delete(turn);
      turn(this.#leave(bucket));
    }
    return true;
  }

  #leave(bucket: Bucket): WritePermit {
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

/** Those who wait for their turn. */
type Waiting = Set<(leave: WritePermit) => void>;

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

  get hasCapacity(): boolean {
    return this.#inFlight < this.#limit.inFlight;
  }

  get msToNext(): number {
    return Math.ceil(((WHOLE - this.#tokens) * 1000) / this.#limit.perSecond);
  }

  take(): boolean {
    this.#fill();
    if (this.#tokens < WHOLE || !this.hasCapacity) return false;
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
