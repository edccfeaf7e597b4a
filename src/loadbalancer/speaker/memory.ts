import { isDeepStrictEqual } from "node:util";
import type { Fragment } from "../../frr/fragment.ts";
import { parseAddress } from "../../ip/address.ts";
import { backoffMs } from "../../kube/backoff.ts";
import { pause } from "../../kube/client/pause.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import type { Log } from "../../kube/log.ts";
import type { LastGood } from "../config/load.ts";
import type { WantedAddress } from "./announcements.ts";
import { type SpeakerState, SpeakerStateFile } from "./state.ts";

const RETRY = { minMs: 500, maxMs: 30_000 };
/** What changes within this time is written once. */
const GATHER_MS = 500;

/** What the speaker knows is on the disk, too: what is good at once, what it holds on the local network within a second. */
export class SpeakerMemory implements Runnable {
  readonly name = "load balancer's state";
  readonly #file: SpeakerStateFile;
  readonly #log: Log;
  #state: Promise<SpeakerState> | undefined;
  #stale: PromiseWithResolvers<void> = Promise.withResolvers();
  #writing: Promise<void> = Promise.resolve();

  constructor(directory: string, log: Log) {
    this.#file = new SpeakerStateFile(directory);
    this.#log = log;
  }

  async lastGood(): Promise<LastGood> {
    return (await this.#load()).lastGood;
  }

  /** What FRR was given before. */
  async applied(): Promise<readonly Fragment[]> {
    return (await this.#load()).applied;
  }

  async addresses(): Promise<WantedAddress[]> {
    return (await this.#load()).addresses.map(({ address, ...wanted }) => Object.assign(wanted, { address: parseAddress(address) }));
  }

  /** What is good now, and what FRR took. On the disk when it returns. */
  async keep(lastGood: LastGood, applied: readonly Fragment[]): Promise<void> {
    const state = await this.#load();
    if (isDeepStrictEqual(state.lastGood, lastGood) && isDeepStrictEqual(state.applied, applied)) return;
    state.lastGood = lastGood;
    state.applied = applied;
    await this.#save();
  }

  holding(wanted: readonly WantedAddress[]): void {
    void this.#load().then(
      (state) => {
        state.addresses = wanted.map(({ address, ...more }) => Object.assign({ address: address.toString() }, more));
        this.#stale.resolve();
      },
      () => undefined,
    );
  }

  async run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      try {
        await pause(GATHER_MS, signal);
        await Promise.race([this.#stale.promise, pause(2 ** 31 - 1, signal)]);
        await this.#save();
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        failures += 1;
        this.#log.error({ error }, "what the load balancer knows cannot be kept, trying again");
        this.#stale.resolve();
        await pause(backoffMs(failures, RETRY), signal).catch(() => undefined);
      }
    }
    await this.#save().catch((error: unknown) => this.#log.error({ error }, "what the load balancer knows was not kept"));
  }

  async #save(): Promise<void> {
    const write = this.#writing.then(async () => {
      this.#stale = Promise.withResolvers();
      await this.#file.save(await this.#load());
    });
    this.#writing = write.catch(() => undefined);
    await write;
  }

  async #load(): Promise<SpeakerState> {
    this.#state ??= this.#read();
    try {
      return await this.#state;
    } catch (error) {
      this.#state = undefined;
      throw error;
    }
  }

  async #read(): Promise<SpeakerState> {
    const { state, setAside } = await this.#file.load();
    if (setAside !== undefined) this.#log.error({ why: setAside }, "what was remembered of the load balancer is lost");
    return state;
  }
}
