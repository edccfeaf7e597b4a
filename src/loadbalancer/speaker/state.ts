import type { Fragment } from "../../frr/fragment.ts";
import { StateFile, type FileDamage } from "../../resilience/state-file.ts";
import type { LastGoodConfig } from "../config/load.ts";
import type { HeartbeatTimes } from "./l2/liveness.ts";

/** What the speaker of a node must know after a restart. */
export interface SpeakerState {
  lastGood: LastGoodConfig;
  /** What FRR was given, in order. */
  applied: readonly Fragment[];
  /** The wanted addresses on the local network. */
  addresses: readonly StoredAddress[];
  /** The heartbeat states of the other candidates. */
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

/** `<directory>/loadbalancer.json`. */
export class SpeakerStateFile {
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
    await this.#file.save({ lastGood: sorted(lastGood), applied, addresses, pulses: sorted(pulses) });
  }
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
