import type { DesiredLink, NetnsRole } from "../hostnet/desired-link.ts";
import { StateFile, type FileDamage } from "../resilience/state-file.ts";
import type { RejectedResource, RejectedResources } from "./model/observed.ts";
import type { LastGoodResource, Rendered } from "./model/rendered.ts";
import { sortedEntries } from "../util/map.ts";

/** What the router of a node must know after a restart, and cannot find out any other way. */
export interface RouterState {
  /** By owner, `L2VNI/red`. */
  lastGood: Map<string, LastGoodResource>;
  /** The objects of the namespace that were there in the last pass, by uid. */
  selections: Map<string, SelectionRecord>;
  /** The addresses of the interfaces that Underlays name, as they were when they last had any: the kernel forgets them when a namespace goes. */
  nics?: ReadonlyMap<string, readonly string[]>;
  /** What the kernel or FRR has rejected. */
  rejections?: RejectedResources;
  /** The node index that the addresses here are made from. */
  index?: number | undefined;
}

export interface SelectionRecord {
  readonly selects: boolean;
  /** When it began to select this node, where the agent observed it. */
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
  async save({ lastGood, selections, nics, rejections, index }: RouterState): Promise<void> {
    await this.#file.save({
      lastGood: sortedEntries(lastGood).map(([owner, { rendered, ...rest }]) => [owner, { ...rest, form: toStored(rendered) }]),
      seen: sortedEntries(selections),
      ...(nics && { nics: sortedEntries(nics) }),
      ...(rejections && rejections.size > 0 && { refusals: sortedEntries(rejections) }),
      ...(index !== undefined && { index }),
    });
  }
}

/** The names that the fields of the file have had since its first version: agents of other versions read and write them too. */
interface Stored {
  lastGood?: [string, Omit<LastGoodResource, "rendered"> & { form: StoredRendered }][];
  seen?: [string, SelectionRecord][];
  nics?: [string, readonly string[]][];
  refusals?: [string, RejectedResource][];
  index?: number;
}

interface StoredRendered extends Pick<Rendered, "fragment"> {
  links: StoredLink[];
}

type StoredLink = Record<string, unknown> & { place: NetnsRole; peer?: { place: NetnsRole; name: string } };

function stateOf({ lastGood = [], seen = [], nics, refusals, index }: Stored): RouterState {
  return {
    lastGood: new Map(lastGood.map(([owner, { form, ...rest }]) => [owner, { ...rest, rendered: fromStored(form) }])),
    selections: new Map(seen),
    ...(nics && { nics: new Map(nics) }),
    ...(refusals && { rejections: new Map(refusals) }),
    ...(index !== undefined && { index }),
  };
}

function toStored({ fragment, links }: Rendered): StoredRendered {
  return {
    fragment,
    links: links.map(({ netns, ...link }): StoredLink => {
      if (link.type !== "veth") return { ...link, place: netns };
      return { ...link, place: netns, peer: { place: link.peer.netns, name: link.peer.name } };
    }),
  };
}

function fromStored({ fragment, links }: StoredRendered): Rendered {
  return {
    fragment,
    links: links.map(({ place, peer, ...link }) => {
      const ends = peer && { peer: { netns: peer.place, name: peer.name } };
      return { ...link, netns: place, ...ends } as unknown as DesiredLink;
    }),
  };
}
