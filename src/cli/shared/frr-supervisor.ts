import type { FrrInstance } from "../../frr/instance.ts";
import { backoffMs } from "../../util/backoff.ts";
import { sleep, untilAborted } from "../../util/sleep.ts";
import type { Log } from "../../kube/log.ts";

interface Options {
  instance: FrrInstance;
  /** Runs before the daemons start. */
  prepare?: (signal: AbortSignal) => Promise<void>;
  log: Log;
}

const RETRY = { minMs: 500, maxMs: 15_000 };

/** FRR's daemons: started on first use, and again when they die. They keep running when this process ends. */
export class ManagedFrr {
  readonly #options: Options;
  readonly #requested = Promise.withResolvers<void>();
  readonly #tried = Promise.withResolvers<void>();
  #problem: unknown;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Resolves when it runs; rejects with the reason why it does not. */
  async up(): Promise<void> {
    this.#requested.resolve();
    await this.#tried.promise;
    if (this.#problem !== undefined) throw this.#problem;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { instance, prepare, log } = this.#options;
    await untilAborted(this.#requested.promise, signal).catch(() => undefined);
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await prepare?.(signal);
        await instance.start(signal);
        this.#problem = undefined;
        this.#tried.resolve();
        await instance.supervise(signal);
      } catch (error) {
        this.#problem = error;
        this.#tried.resolve();
        if (signal.aborted) break;
        log.error({ error, frr: instance.name }, "cannot start FRR, retrying");
        await sleep(backoffMs(failures, RETRY), signal).catch(() => {});
      }
    }
    // Release callers that still wait: no further attempt follows.
    this.#problem ??= signal.reason;
    this.#tried.resolve();
  }
}
