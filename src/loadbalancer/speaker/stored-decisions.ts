import type { Fragment } from "../../frr/fragment.ts";
import { parseAddress } from "../../ip/address.ts";
import type { Log } from "../../kube/log.ts";
import type { LastGoodConfig } from "../config/load.ts";
import type { WantedAddress } from "./announcements.ts";
import { type SpeakerState, SpeakerStateFile } from "./state.ts";

/** What the speaker knows, on the disk too: what it keeps is there when the promise is fulfilled. Throws a StateError. */
export class SpeakerStateStore {
  readonly #file: SpeakerStateFile;
  readonly #log: Log;
  #state: Promise<SpeakerState> | undefined;
  #unreadable: string | undefined;
  #unwritable: string | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(directory: string, log: Log) {
    this.#file = new SpeakerStateFile(directory);
    this.#log = log;
  }

  /** Why the next agent would not know what we do; undefined: it would. */
  get problem(): string | undefined {
    return this.#unreadable ?? this.#unwritable;
  }

  async lastGood(): Promise<LastGoodConfig> {
    return (await this.#load()).lastGood;
  }

  /** What FRR was given before. */
  async applied(): Promise<readonly Fragment[]> {
    return (await this.#load()).applied;
  }

  /** The addresses that were owned on the local network. */
  async addresses(): Promise<WantedAddress[]> {
    return (await this.#load()).addresses.map(({ address, ...wanted }) => Object.assign(wanted, { address: parseAddress(address) }));
  }

  /** The candidates whose heartbeats were received before. */
  async pulses(): Promise<SpeakerState["pulses"]> {
    return (await this.#load()).pulses;
  }

  async keep(
    known: Partial<Pick<SpeakerState, "lastGood" | "applied" | "pulses">> & { addresses?: readonly WantedAddress[] },
  ): Promise<void> {
    const state = await this.#load();
    const addresses = known.addresses?.map(({ address, ...more }) => Object.assign({ address: address.toString() }, more));
    Object.assign(state, known, { addresses: addresses ?? state.addresses });
    await this.#save(state);
  }

  /** One after the other: a file has one writer. What it holds already is not written again. */
  async #save(state: SpeakerState): Promise<void> {
    const write = this.#writing.then(() => this.#file.save(state));
    this.#writing = write.catch(() => undefined);
    try {
      await write;
      this.#unwritable = undefined;
    } catch (error) {
      this.#unwritable = messageOf(error);
      throw error;
    }
  }

  async #load(): Promise<SpeakerState> {
    this.#state ??= this.#read();
    try {
      const state = await this.#state;
      this.#unreadable = undefined;
      return state;
    } catch (error) {
      this.#state = undefined;
      this.#unreadable = messageOf(error);
      throw error;
    }
  }

  async #read(): Promise<SpeakerState> {
    const { state, damage } = await this.#file.load();
    if (damage) {
      const { message: why, recovered } = damage;
      this.#log.error({ why, recovered }, "load balancer state file is damaged or of a newer version");
    }
    return state;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
