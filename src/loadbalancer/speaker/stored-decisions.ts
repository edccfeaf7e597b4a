import type { Fragment } from "../../frr/fragment.ts";
import { parseAddress } from "../../ip/address.ts";
import type { Log } from "../../kube/log.ts";
import type { LastGoodConfig } from "../config/load.ts";
import type { WantedAddress } from "./announcements.ts";
import { StateFile, type FileDamage } from "../../resilience/state-file.ts";
import type { HeartbeatTimes } from "./l2/liveness.ts";
import { sortedEntries } from "../../util/map.ts";

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

  /** Undefined if the state is saved. */
  get problem(): string | undefined {
    return this.#unreadable ?? this.#unwritable;
  }

  async lastGood(): Promise<LastGoodConfig> {
    return (await this.#load()).lastGood;
  }

  async applied(): Promise<readonly Fragment[]> {
    return (await this.#load()).applied;
  }

  async addresses(): Promise<WantedAddress[]> {
    return (await this.#load()).addresses.map(({ address, ...wanted }) => Object.assign(wanted, { address: parseAddress(address) }));
  }

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

  /** Serialized: a file has one writer. Unchanged state is not written. */
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

interface SpeakerState {
  lastGood: LastGoodConfig;
  /** In order. */
  applied: readonly Fragment[];
  addresses: readonly StoredAddress[];
  pulses: HeartbeatTimes;
}

interface StoredAddress {
  readonly address: string;
  readonly service: string;
  readonly interfaces?: readonly string[];
  readonly candidates: readonly string[];
}

interface Stored {
  lastGood: [string, LastGoodConfig extends ReadonlyMap<string, infer T> ? T : never][];
  applied: readonly Fragment[];
  addresses: readonly StoredAddress[];
  pulses: readonly (HeartbeatTimes extends ReadonlyMap<infer K, infer V> ? [K, V] : never)[];
}

class SpeakerStateFile {
  readonly #file: StateFile<Stored>;

  constructor(directory: string) {
    this.#file = new StateFile(directory, "loadbalancer", { versions: [(content) => content as Stored], keepsPrevious: false });
  }

  async load(): Promise<{ state: SpeakerState; damage?: FileDamage }> {
    const { content, damage } = await this.#file.load();
    const { lastGood = [], applied = [], addresses = [], pulses = [] } = content ?? {};
    return {
      state: { lastGood: new Map(lastGood), applied, addresses, pulses: new Map(pulses) },
      ...(damage && { damage }),
    };
  }

  async save({ lastGood, applied, addresses, pulses }: SpeakerState): Promise<void> {
    await this.#file.save({ lastGood: sortedEntries(lastGood), applied, addresses, pulses: sortedEntries(pulses) });
  }
}
