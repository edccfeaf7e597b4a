import { isKubeError } from "../client/error.ts";

/**
 * A claim decides which object was first. A transition is the first write of an object, or a condition that changes. A refresh updates
 * details.
 */
export type WriteClass = "claim" | "transition" | "refresh";

interface Limit {
  perSecond: number;
  /** Writes that may be sent at once after a quiet time. */
  burst: number;
  /** Concurrent writes, so that a slow server is not overloaded. */
  inFlight: number;
}

/** Claims use the limit of transitions. */
type Limits = Readonly<Record<Exclude<WriteClass, "claim">, Limit>>;

const LIMITS: Limits = {
  transition: { perSecond: 50, burst: 10, inFlight: 32 },
  refresh: { perSecond: 5, burst: 20, inFlight: 8 },
};

/** The permit for one write. Call exactly one of the two. */
export interface WritePermit {
  done(): void;
  unused(): void;
}

/** So many claims in a row pass a waiting transition: many claims would delay other transitions for minutes. */
const CLAIMS_AHEAD = 4;

/**
 * The write limit of the process, shared by its status writers. A write waits for its turn and then plans what to write. Within a class it
 * is first come, first served; claims pass transitions but leave them every fifth turn, and refreshes wait for both.
 */
export class WriteBudget {
  readonly #waiting: Readonly<Record<WriteClass, Waiting>> = { claim: new Set(), transition: new Set(), refresh: new Set() };
  readonly #transitions: Bucket;
  readonly #refreshes: Bucket;
  /** Claims in a row while a transition waited. */
  #claimsAhead = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: Limits = LIMITS) {
    this.#transitions = new Bucket(limits.transition);
    this.#refreshes = new Bucket(limits.refresh);
  }

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

  /** Returns whether there was capacity for one. */
  #serveNext(waiting: Waiting, bucket: Bucket): boolean {
    if (!bucket.take()) {
      // Without capacity no timer is needed: a response frees some, and that serves again.
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

/** Tokens accumulate as fractions, with rounding errors. */
const WHOLE = 1 - 1e-9;

type Waiting = Set<(leave: WritePermit) => void>;

/** A token bucket that also counts running writes. */
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

/**
 * Writes when the budget allows. The state may have changed by then, so `write` checks again and returns whether it wrote. Also false on a
 * conflict; the cache will show the result.
 */
export async function writeWithBudget(
  budget: WriteBudget,
  writeClass: WriteClass,
  signal: AbortSignal,
  write: () => Promise<boolean>,
): Promise<boolean> {
  const leave = await budget.admit(writeClass, signal);
  let isSent = true;
  try {
    isSent = await write();
    return isSent;
  } catch (error) {
    if (isKubeError(error, "Conflict", "NotFound")) return false;
    throw error;
  } finally {
    if (isSent) leave.done();
    else leave.unused();
  }
}
