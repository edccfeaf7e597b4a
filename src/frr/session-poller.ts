import { backoffMs } from "../util/backoff.ts";
import { sleep } from "../util/sleep.ts";

export interface PollResult<T> {
  readonly state: T;
  /** Changes when a daemon is restarted. */
  readonly identity: string;
  readonly isChanged: boolean;
  /** FRR has to be configured again, as if it had been restarted. */
  readonly requiresPass?: boolean;
}

export interface FrrPollerOptions<T> {
  readonly everyMs?: number | undefined;
  /** One poll. `before` is undefined while FRR did not answer. Undefined: the answer is outdated, poll again at once. */
  poll(before: T | undefined, signal: AbortSignal): Promise<PollResult<T> | undefined>;
  /** `ok`, or the code of the error. */
  onPoll(outcome: string): void;
  /** The state has changed, or FRR has stopped or begun to answer; undefined while it does not answer. */
  onChange(state: T | undefined): void;
  /** A daemon was restarted and may have lost its configuration; or FRR does not answer. */
  onRestart(): void;
}

const EVERY_MS = 1_000;
const UNAVAILABLE = { minMs: 500, maxMs: 5_000 };

/** Polls FRR every second, less often while it does not answer, and notices restarts of its daemons. */
export class FrrPoller<T> {
  readonly #options: FrrPollerOptions<T>;
  #state: T | undefined;
  #identity: string | undefined;

  constructor(options: FrrPollerOptions<T>) {
    this.#options = options;
  }

  get state(): T | undefined {
    return this.#state;
  }

  /** Corrects the state, if there is one. */
  replace(state: T): void {
    if (this.#state !== undefined) this.#state = state;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { everyMs = EVERY_MS } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const result = await this.#options.poll(this.#state, signal);
        if (!result) continue;
        this.#update(result);
        this.#options.onPoll("ok");
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        const { code } = error as { code?: unknown };
        this.#options.onPoll(typeof code === "string" ? code : "Unexpected");
        this.#lose();
      }
      await sleep(failures === 0 ? everyMs * (0.95 + Math.random() / 10) : backoffMs(failures, UNAVAILABLE), signal).catch(() => {});
    }
  }

  #update({ state, identity, isChanged, requiresPass = false }: PollResult<T>): void {
    const isRestarted = this.#identity !== undefined && (this.#identity !== identity || this.#state === undefined || requiresPass);
    this.#state = state;
    this.#identity = identity;
    if (isRestarted) this.#options.onRestart();
    if (isChanged) this.#options.onChange(state);
  }

  #lose(): void {
    if (this.#state === undefined) return;
    this.#state = undefined;
    this.#options.onRestart();
    this.#options.onChange(undefined);
  }
}
