import { StateFile, type FileDamage } from "../resilience/state-file.ts";
import type { RejectedResources } from "./rejected-resources.ts";
import type { LastGoodResource } from "./render/rendered.ts";

/** What the router of a node must know after a restart, and cannot find out any other way. */
export interface RouterState {
  /** By owner, `L2VNI/red`. */
  lastGood: Map<string, LastGoodResource>;
  /** The objects of the namespace that were there in the last pass, by uid. */
  seen: Map<string, SelectionRecord>;
  /** The addresses of the interfaces that Underlays name, as they were when they last had any: the kernel forgets them when a namespace goes. */
  nics?: ReadonlyMap<string, readonly string[]>;
  /** What the kernel or FRR has rejected. */
  refusals?: RejectedResources;
  /** The node index that the addresses here are made from. */
  index?: number | undefined;
}

export interface SelectionRecord {
  readonly selects: boolean;
  /** When it began to select this node, where that was seen to happen. */
  readonly since?: string;
}

/** `<directory>/router.json`, and `router.json.previous`. */
export class RouterStateFile {
  readonly #file: StateFile<Stored>;

  constructor(directory: string) {
    this.#file = new StateFile(directory, "router", { versions: [(content) => content as Stored], keepsPrevious: true });
  }

  get path(): string {
    return this.#file.path;
  }

  async load(options?: { setAside: boolean }): Promise<{ state: RouterState; damage?: FileDamage }> {
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
  lastGood?: [string, LastGoodResource][];
  seen?: [string, SelectionRecord][];
  nics?: [string, readonly string[]][];
  refusals?: [string, RejectedResources extends ReadonlyMap<string, infer T> ? T : never][];
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
