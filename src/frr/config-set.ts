import type { Entry } from "./entry.ts";
import { neighborOf, slotsOf, type Slot } from "./grammar.ts";

/**
 * The lines that the daemons have. Most passes only ask whether a line is there, so that what finds lines by their surroundings is made when it is first asked
 * for.
 */
export class ConfigSet implements Iterable<Entry> {
  readonly #entries = new Map<string, Entry>();
  #surroundings: Surroundings | undefined;

  constructor(entries: Iterable<Entry> = []) {
    for (const entry of entries) this.#entries.set(entry.key, entry);
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  [Symbol.iterator](): IterableIterator<Entry> {
    return this.#entries.values();
  }

  add(entry: Entry): void {
    if (this.#entries.has(entry.key)) return;
    this.#entries.set(entry.key, entry);
    this.#surroundings?.add(entry);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#surroundings?.delete(entry);
  }

  /** The other lines that are where this one wants to be. */
  rivalsOf(entry: Entry): { rival: Entry; slot: Slot }[] {
    const slots = slotsOf(entry.path, entry.line);
    if (slots.length === 0) return [];
    const around = this.#around();
    return slots.flatMap((slot) =>
      (isLoose(entry) ? around.holdersOf(entry.daemon, slot.name) : around.within(entry).filter((other) => takes(other, slot)))
        .filter(({ key }) => key !== entry.key)
        .map((rival) => ({ rival, slot })),
    );
  }

  /** The lines that take a slot, in whichever daemon. Only for slots that are not about one context alone. */
  holdersOf(slot: string): Entry[] {
    const around = this.#around();
    return [...around.daemons].flatMap((daemon) => around.holdersOf(daemon, slot));
  }

  /** What FRR drops by itself when the line is taken back. */
  goesWith(entry: Entry): Entry[] {
    const neighbor = neighborOf(entry.line);
    const [, watched] = /^(neighbor \S+ bfd)$/.exec(entry.line) ?? [];
    if (!entry.context && !neighbor && !watched) return [];
    return this.#around()
      .within(entry)
      .filter((other) => {
        if (other.key === entry.key) return false;
        if (entry.context) return other.key.startsWith(`${entry.key}\n`);
        if (watched) return other.path.length === entry.path.length && other.line.startsWith(`${watched} profile `);
        return other.line.startsWith(`neighbor ${neighbor} `) || other.line.startsWith(`no neighbor ${neighbor} `);
      });
  }

  #around(): Surroundings {
    this.#surroundings ??= new Surroundings(this);
    return this.#surroundings;
  }
}

/** What stands in the same top-level context, and who takes the slots that are not about one context alone. */
class Surroundings {
  readonly daemons = new Set<string>();
  readonly #byTop = new Map<string, Set<Entry>>();
  readonly #bySlot = new Map<string, Set<Entry>>();

  constructor(entries: Iterable<Entry>) {
    for (const entry of entries) this.add(entry);
  }

  within(entry: Entry): Entry[] {
    return [...(this.#byTop.get(topOf(entry)) ?? [])];
  }

  holdersOf(daemon: string, slot: string): Entry[] {
    return [...(this.#bySlot.get(`${daemon}\n${slot}`) ?? [])];
  }

  add(entry: Entry): void {
    this.daemons.add(entry.daemon);
    into(this.#byTop, topOf(entry), entry);
    for (const name of looseSlots(entry)) into(this.#bySlot, name, entry);
  }

  delete(entry: Entry): void {
    outOf(this.#byTop, topOf(entry), entry);
    for (const name of looseSlots(entry)) outOf(this.#bySlot, name, entry);
  }
}

/** A line of the top level, or of a VRF: its rivals may stand in other contexts than its own. */
function isLoose({ path }: Entry): boolean {
  return path.length === 0 || (path[0]?.startsWith("vrf ") ?? false);
}

function looseSlots(entry: Entry): string[] {
  return isLoose(entry) ? slotsOf(entry.path, entry.line).map(({ name }) => `${entry.daemon}\n${name}`) : [];
}

function takes({ path, line }: Entry, { name }: Slot): boolean {
  return slotsOf(path, line).some((slot) => slot.name === name);
}

function topOf({ daemon, path, line }: Entry): string {
  return `${daemon}\n${path[0] ?? line}`;
}

function into(index: Map<string, Set<Entry>>, name: string, entry: Entry): void {
  const entries = index.get(name);
  if (entries) entries.add(entry);
  else index.set(name, new Set([entry]));
}

function outOf(index: Map<string, Set<Entry>>, name: string, entry: Entry): void {
  const entries = index.get(name);
  entries?.delete(entry);
  if (entries?.size === 0) index.delete(name);
}
