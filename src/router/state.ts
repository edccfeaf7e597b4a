import { CheckedFile, type Damage } from "../resilience/state-file.ts";
import type { Refusals } from "./rejected-resources.ts";
import type { LastGood } from "./render/rendered.ts";

/** What the router of a node must know after a restart, and cannot find out any other way. */
export interface RouterState {
  /** By owner, `L2VNI/red`. */
  lastGood: Map<string, LastGood>;
  /** The objects of the namespace that were there in the last pass, by uid. */
  seen: Map<string, Seen>;
  /** The addresses of the interfaces that Underlays name, as they were when they last had any: the kernel forgets them when a namespace goes. */
  nics?: ReadonlyMap<string, readonly string[]>;
  /** What the kernel or FRR has refused. */
  refusals?: Refusals;
  /** The node index that the addresses here are made from. */
  index?: number | undefined;
}

export interface Seen {
  readonly selects: boolean;
  /** When it began to select this node, where that was seen to happen. */
  readonly since?: string;
}

/** `<directory>/router.json`, and `router.json.previous`. */
export class StateFile {
  readonly #file: CheckedFile<Stored>;

  constructor(directory: string) {
    this.#file = new CheckedFile(directory, "router", { versions: [(content) => content as Stored], keepsPrevious: true });
  }

  get path(): string {
    return this.#file.path;
  }

  async load(options?: { setAside: boolean }): Promise<{ state: RouterState; damage?: Damage }> {
    const { content, damage } = await this.#file.load(options);
    return { state: stateOf(content ?? {}), ...(damage && { damage }) };
  }

  /** Writes only what differs from what the file holds, and a file that is gone. */
  async save({ lastGood, seen, nics, refusals, index }: RouterState): Promise<void> {
    await this.#file.save({
      lastGood: sorted(lastGood),
      seen: sorted(seen),
      ...(nics && { nics: sorted(nics) }),
      ...(refusals && refusals.size > 0 && { refusals: sorted(refusals) }),
      ...(index !== undefined && { index }),
    });
  }
}

interface Stored {
  lastGood?: [string, LastGood][];
  seen?: [string, Seen][];
  nics?: [string, readonly string[]][];
  refusals?: [string, Refusals extends ReadonlyMap<string, infer T> ? T : never][];
  index?: number;
}

function stateOf({ lastGood = [], seen = [], nics, refusals, index }: Stored): RouterState {
  return {
    lastGood: new Map(lastGood),
    seen: new Map(seen),
    ...(nics && { nics: new Map(nics) }),
    ...(refusals && { refusals: new Map(refusals) }),
    ...(index !== undefined && { index }),
  };
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
