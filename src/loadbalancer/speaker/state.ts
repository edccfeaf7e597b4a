import type { Fragment } from "../../frr/fragment.ts";
import { CheckedFile } from "../../resilience/checked-file.ts";
import type { LastGood } from "../config/load.ts";

/** What the speaker of a node must know after a restart. */
export interface SpeakerState {
  lastGood: LastGood;
  /** What FRR was given, in order. */
  applied: readonly Fragment[];
  /** What was to be held on the local network. */
  addresses: readonly StoredAddress[];
}

interface StoredAddress {
  readonly address: string;
  readonly service: string;
  readonly interfaces?: readonly string[];
  readonly candidates: readonly string[];
}

interface Stored {
  lastGood: [string, LastGood extends ReadonlyMap<string, infer T> ? T : never][];
  applied: readonly Fragment[];
  addresses: readonly StoredAddress[];
}

/** `<directory>/loadbalancer.json`. */
export class SpeakerStateFile {
  readonly #file: CheckedFile<Stored>;

  constructor(directory: string) {
    this.#file = new CheckedFile(directory, "loadbalancer");
  }

  async load(): Promise<{ state: SpeakerState; setAside?: string }> {
    const { content, setAside } = await this.#file.load();
    const { lastGood = [], applied = [], addresses = [] } = content ?? {};
    return { state: { lastGood: new Map(lastGood), applied, addresses }, ...(setAside !== undefined && { setAside }) };
  }

  async save({ lastGood, applied, addresses }: SpeakerState): Promise<void> {
    await this.#file.save({ lastGood: [...lastGood].sort(([a], [b]) => (a < b ? -1 : 1)), applied, addresses });
  }
}
