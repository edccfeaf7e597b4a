import type { ConfigEntry } from "./entry.ts";
import { neighborOf, slotsOf, type Slot } from "./grammar.ts";

export type Block = ReadonlyMap<string, ConfigEntry>;

/**
 * The lines of all daemons. Unchanged blocks are shared with earlier reads, and copied on change. Most passes only ask whether a line
 * exists, so the index by slot is built on demand.
 */
export class ConfigSet implements Iterable<ConfigEntry> {
  readonly #blocks = new Map<string, Block>();
  readonly #copied = new Map<string, Map<string, ConfigEntry>>();
  /** Slots within one top-level context. */
  readonly #near = new Map<string, Slots>();
  /** Slots across contexts. */
  #far: Slots | undefined;

  constructor(entries: Iterable<ConfigEntry> = []) {
    for (const entry of entries) this.#copy(entry.top).set(entry.key, entry);
  }

  static ofBlocks(blocks: Iterable<Block>): ConfigSet {
    const set = new ConfigSet();
    for (const block of blocks) {
      const [first] = block.values();
      if (!first) continue;
      if (set.#blocks.has(first.top)) for (const entry of block.values()) set.add(entry);
      else set.#blocks.set(first.top, block);
    }
    return set;
  }

  get blocks(): ReadonlyMap<string, Block> {
    return this.#blocks;
  }

  /** A snapshot of the blocks: later changes copy a block first. */
  share(): ReadonlyMap<string, Block> {
    this.#copied.clear();
    return new Map(this.#blocks);
  }

  has({ top, key }: Pick<ConfigEntry, "top" | "key">): boolean {
    return this.#blocks.get(top)?.has(key) ?? false;
  }

  inDaemon(daemon: string, { text, path, line }: ConfigEntry): ConfigEntry | undefined {
    return this.#blocks.get(`${daemon}\n${path[0] ?? line}`)?.get(`${daemon}\n${text}`);
  }

  *[Symbol.iterator](): IterableIterator<ConfigEntry> {
    for (const block of this.#blocks.values()) yield* block.values();
  }

  /** Reads all lines, in every pass. */
  filter(isMeant: (entry: ConfigEntry) => boolean): ConfigEntry[] {
    const meant: ConfigEntry[] = [];
    for (const block of this.#blocks.values()) for (const entry of block.values()) if (isMeant(entry)) meant.push(entry);
    return meant;
  }

  add(entry: ConfigEntry): void {
    if (this.has(entry)) return;
    this.#copy(entry.top).set(entry.key, entry);
    this.#known(entry)?.add(entry);
  }

  delete(entry: ConfigEntry): void {
    if (!this.has(entry)) return;
    this.#copy(entry.top).delete(entry.key);
    this.#known(entry)?.delete(entry);
  }

  /** Other lines in the slot of this one. */
  rivalsOf(entry: ConfigEntry): { rival: ConfigEntry; slot: Slot }[] {
    const slots = slotsOf(entry.path, entry.line);
    if (slots.length === 0) return [];
    const taken = reachesFar(entry) ? this.#farSlots() : this.#nearSlots(entry);
    return slots.flatMap((slot) =>
      taken
        .holdersOf(entry.daemon, slot.name)
        .filter(({ key }) => key !== entry.key)
        .map((rival) => ({ rival, slot })),
    );
  }

  /** The lines in a slot, of any daemon. Only for slots across contexts. */
  holdersOf(slot: string): ConfigEntry[] {
    const far = this.#farSlots();
    return [...far.daemons].flatMap((daemon) => far.holdersOf(daemon, slot));
  }

  /** What FRR removes together with the line. */
  goesWith(entry: ConfigEntry): ConfigEntry[] {
    const neighbor = neighborOf(entry.line);
    const [, watched] = /^(neighbor \S+ bfd)$/.exec(entry.line) ?? [];
    if (!entry.context && !neighbor && !watched) return [];
    return this.#within(entry).filter((other) => {
      if (other.key === entry.key) return false;
      if (entry.context) return other.key.startsWith(`${entry.key}\n`);
      if (watched) return other.path.length === entry.path.length && other.line.startsWith(`${watched} profile `);
      return other.line.startsWith(`neighbor ${neighbor} `) || other.line.startsWith(`no neighbor ${neighbor} `);
    });
  }

  #within({ top }: ConfigEntry): ConfigEntry[] {
    return [...(this.#blocks.get(top)?.values() ?? [])];
  }

  #farSlots(): Slots {
    if (this.#far) return this.#far;
    this.#far = new Slots();
    for (const block of this.#blocks.values()) {
      for (const entry of block.values()) {
        if (!reachesFar(entry)) break;
        this.#far.add(entry);
      }
    }
    return this.#far;
  }

  #nearSlots({ top }: ConfigEntry): Slots {
    let near = this.#near.get(top);
    if (!near) {
      near = new Slots();
      for (const entry of this.#blocks.get(top)?.values() ?? []) if (!reachesFar(entry)) near.add(entry);
      this.#near.set(top, near);
    }
    return near;
  }

  /** The slot index of the entry, if it exists yet. */
  #known(entry: ConfigEntry): Slots | undefined {
    return reachesFar(entry) ? this.#far : this.#near.get(entry.top);
  }

  #copy(top: string): Map<string, ConfigEntry> {
    let copy = this.#copied.get(top);
    if (!copy) {
      copy = new Map(this.#blocks.get(top));
      this.#copied.set(top, copy);
      this.#blocks.set(top, copy);
    }
    return copy;
  }
}

class Slots {
  readonly daemons = new Set<string>();
  readonly #holders = new Map<string, Set<ConfigEntry>>();

  holdersOf(daemon: string, slot: string): ConfigEntry[] {
    return [...(this.#holders.get(`${daemon}\n${slot}`) ?? [])];
  }

  add(entry: ConfigEntry): void {
    this.daemons.add(entry.daemon);
    for (const name of slotNames(entry)) {
      const holders = this.#holders.get(name);
      if (holders) holders.add(entry);
      else this.#holders.set(name, new Set([entry]));
    }
  }

  delete(entry: ConfigEntry): void {
    for (const name of slotNames(entry)) {
      for (const holder of this.#holders.get(name) ?? []) if (holder.key === entry.key) this.#holders.get(name)?.delete(holder);
    }
  }
}

/** Entries outlive the sets that contain them. */
const namesOf = new WeakMap<ConfigEntry, readonly string[]>();

function slotNames(entry: ConfigEntry): readonly string[] {
  let names = namesOf.get(entry);
  if (!names) {
    names = slotsOf(entry.path, entry.line).map(({ name }) => `${entry.daemon}\n${name}`);
    namesOf.set(entry, names);
  }
  return names;
}

/** A top-level line, or one of a VRF: its rivals may be in other contexts. */
function reachesFar({ path }: ConfigEntry): boolean {
  return path.length === 0 || (path[0]?.startsWith("vrf ") ?? false);
}
