import { isDeepStrictEqual } from "node:util";
import { checkAttempts, checkAttemptsInFlight, checkSkippedTicks } from "../metrics.ts";
import { type Attempt, INTERVAL_MS } from "../history/attempt.ts";
import type { Target } from "./target.ts";

export interface ProbeSchedulerOptions {
  /** `admit` must be awaited before each connection but the first, to respect the rate. */
  readonly probe: (target: Target, seq: number, signal: AbortSignal, admit: () => Promise<void>) => Promise<Attempt>;
  readonly onAttempt: (key: string, attempt: Attempt) => void;
  readonly intervalMs?: number;
}

/** One attempt of a check, due or running. */
interface Turn {
  readonly check: Check;
  readonly target: Target;
  readonly abort: AbortController;
  connections: number;
}

/** A further connection of a running attempt. */
interface Further {
  readonly turn: Turn;
  readonly go: () => void;
}

interface Check {
  readonly key: string;
  /** Its offset within each interval. */
  readonly phaseMs: number;
  target: Target;
  seq: number;
  turn: Turn | undefined;
  timer: NodeJS.Timeout | undefined;
  /** The interval of its next turn, counted from the origin. */
  interval: number;
}

/** A fraction of the interval, to either side, so that sources that start together do not probe a target together. */
const JITTER = 0.02;
/** Connections per second: enough for 12 000 checks at an interval of a minute. */
const PER_SECOND = 200;
const MOST_IN_FLIGHT = 1000;
/** The fractional parts of its multiples are spread evenly. */
const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;

/**
 * Probes each check once per interval, at its own offset; a new check or target is probed at once first. At most one attempt of a check
 * runs: a turn meanwhile is skipped.
 */
export class ProbeScheduler {
  readonly #options: ProbeSchedulerOptions;
  readonly #intervalMs: number;
  readonly #checks = new Map<string, Check>();
  readonly #waiting = new Set<Turn>();
  #further: Further[] = [];
  #connections = 0;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #pace = new RateLimiter(PER_SECOND);
  readonly #ended = Promise.withResolvers<void>();
  #added = Math.random();
  #originMs = 0;
  #running = false;
  #resting: NodeJS.Timeout | undefined;

  constructor(options: ProbeSchedulerOptions) {
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? INTERVAL_MS;
  }

  /** Adds a check, whose first attempt has the number `seq`, or changes its target. A running attempt for the old target is discarded. */
  set(key: string, target: Target, seq = 1): void {
    const known = this.#checks.get(key);
    if (known && isSame(known.target, target)) return;
    const check = known ?? this.#addCheck(key, target, seq);
    check.target = target;
    this.#discard(check);
    if (this.#running) this.#begin(check);
  }

  remove(key: string): void {
    const check = this.#checks.get(key);
    if (!check) return;
    this.#checks.delete(key);
    clearTimeout(check.timer);
    this.#discard(check);
  }

  /** Resolves when the signal has aborted and no attempt is running. Rejects with what `onAttempt` threw. */
  async run(signal: AbortSignal): Promise<void> {
    this.#originMs = performance.now();
    this.#running = true;
    for (const check of this.#checks.values()) this.#begin(check);
    const stop = (): void => this.#ended.resolve();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      await this.#ended.promise;
    } finally {
      signal.removeEventListener("abort", stop);
      this.#running = false;
      clearTimeout(this.#resting);
      for (const key of this.#checks.keys()) this.remove(key);
      for (const { go } of this.#further.splice(0)) go();
      await Promise.all(this.#inFlight);
    }
  }

  #addCheck(key: string, target: Target, seq: number): Check {
    this.#added += 1;
    const phaseMs = ((this.#added * GOLDEN_RATIO) % 1) * this.#intervalMs;
    const check = { key, phaseMs, target, seq, turn: undefined, timer: undefined, interval: 0 };
    this.#checks.set(key, check);
    return check;
  }

  #begin(check: Check): void {
    clearTimeout(check.timer);
    check.timer = undefined;
    this.#due(check);
  }

  /** From now on at its offset, first after at least half an interval. */
  #enterCycle(check: Check): void {
    const sinceOrigin = performance.now() - this.#originMs;
    check.interval = Math.ceil((sinceOrigin + this.#intervalMs / 2 - check.phaseMs) / this.#intervalMs);
    this.#schedule(check);
  }

  #schedule(check: Check): void {
    const jitterMs = (Math.random() * 2 - 1) * JITTER * this.#intervalMs;
    const dueMs = this.#originMs + check.interval * this.#intervalMs + check.phaseMs + jitterMs;
    check.timer = setTimeout(() => {
      this.#due(check);
      check.interval += 1;
      // Whole intervals may have passed while the process was blocked.
      const missed = Math.floor((performance.now() - dueMs) / this.#intervalMs);
      if (missed > 0) {
        check.interval += missed;
        checkSkippedTicks.inc(missed);
      }
      this.#schedule(check);
    }, dueMs - performance.now());
  }

  #due(check: Check): void {
    if (check.turn) {
      checkSkippedTicks.inc();
      return;
    }
    check.turn = { check, target: check.target, abort: new AbortController(), connections: 1 };
    this.#waiting.add(check.turn);
    this.#startNext();
  }

  #discard(check: Check): void {
    const { turn } = check;
    if (!turn) return;
    check.turn = undefined;
    this.#waiting.delete(turn);
    turn.abort.abort(new Error("The check was changed or removed"));
    for (const { go } of this.#further.filter((further) => further.turn === turn)) go();
    this.#further = this.#further.filter((further) => further.turn !== turn);
  }

  /** Further connections of running attempts first. */
  #startNext(): void {
    clearTimeout(this.#resting);
    while (this.#running) {
      const [further] = this.#further;
      const [turn] = this.#connections < MOST_IN_FLIGHT ? this.#waiting : [];
      if (!further && !turn) return;
      const restMs = this.#pace.take();
      if (restMs > 0) {
        this.#resting = setTimeout(() => this.#startNext(), restMs);
        return;
      }
      this.#connections += 1;
      if (further) this.#goOn(further);
      else if (turn) this.#start(turn);
    }
  }

  #goOn({ turn, go }: Further): void {
    this.#further.shift();
    turn.connections += 1;
    go();
  }

  #start(turn: Turn): void {
    this.#waiting.delete(turn);
    if (!turn.check.timer) this.#enterCycle(turn.check);
    const attempt = this.#try(turn).finally(() => {
      this.#inFlight.delete(attempt);
      this.#connections -= turn.connections;
      checkAttemptsInFlight.dec();
      this.#startNext();
    });
    this.#inFlight.add(attempt);
    checkAttemptsInFlight.inc();
  }

  #admit(turn: Turn): Promise<void> {
    if (turn.abort.signal.aborted) return Promise.resolve();
    return new Promise((go) => {
      this.#further.push({ turn, go });
      this.#startNext();
    });
  }

  async #try(turn: Turn): Promise<void> {
    const { check, target, abort } = turn;
    const seq = check.seq++;
    const at = Date.now();
    const attempt = await this.#options
      .probe(target, seq, abort.signal, () => this.#admit(turn))
      .catch((error: unknown): Attempt => {
        // The result of an aborted turn is not read. Otherwise this is a bug, which affects only this check.
        return { seq, at, target: target.text, actions: [], reachable: false, fault: `Internal error in the check: ${String(error)}` };
      });
    if (check.turn !== turn) {
      checkAttempts.inc({ outcome: "discarded" });
      return;
    }
    check.turn = undefined;
    checkAttempts.inc({ outcome: attempt.fault !== undefined ? "fault" : attempt.reachable ? "reachable" : "unreachable" });
    try {
      this.#options.onAttempt(check.key, this.#intervalMs > INTERVAL_MS ? { ...attempt, everyMs: this.#intervalMs } : attempt);
    } catch (error) {
      this.#ended.reject(error);
    }
  }
}

function isSame(one: Target, other: Target): boolean {
  return one.text === other.text && isDeepStrictEqual(one.probed, other.probed);
}

/** The burst after a quiet time: enough to compensate for late timers. */
const TOGETHER = 5;

/** Spaces connections, so that many at once are neither a burst on the network nor a queue that looks like latency. */
class RateLimiter {
  readonly #apartMs: number;
  #nextAt = 0;

  constructor(perSecond: number) {
    this.#apartMs = 1000 / perSecond;
  }

  /** 0 if one may start now, which is counted; otherwise the milliseconds to wait. */
  take(): number {
    const now = performance.now();
    const earliest = Math.max(this.#nextAt, now - (TOGETHER - 1) * this.#apartMs);
    if (earliest > now) return earliest - now;
    this.#nextAt = earliest + this.#apartMs;
    return 0;
  }
}
