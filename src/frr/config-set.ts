import type { Entry } from "./entry.ts";
import { neighborOf, slotsOf, type Slot } from "./grammar.ts";

/** The lines that the daemons have, found by line, by slot and by the context around them. */
export class ConfigSet implements Iterable<Entry> {
  readonly #entries = new Map<string, Entry>();
  readonly #bySlot = new Map<string, Set<Entry>>();
  readonly #daemons = new Set<string>();
  readonly #byTop = new Map<string, Set<Entry>>();

  constructor(entries: Iterable<Entry> = []) {
    for (const entry of entries) this.add(entry);
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
    for (const { name } of slotsOf(entry.path, entry.line)) into(this.#bySlot, `${entry.daemon}\n${name}`, entry);
    into(this.#byTop, topOf(entry), entry);
    this.#daemons.add(entry.daemon);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    for (const { name } of slotsOf(entry.path, entry.line)) outOf(this.#bySlot, `${entry.daemon}\n${name}`, entry);
    outOf(this.#byTop, topOf(entry), entry);
  }

  /** The other lines that are where this one wants to be. */
  rivalsOf(entry: Entry): { rival: Entry; slot: Slot }[] {
    return slotsOf(entry.path, entry.line).flatMap((slot) =>
      [...(this.#bySlot.get(`${entry.daemon}\n${slot.name}`) ?? [])].flatMap((rival) => (rival.key === entry.key ? [] : [{ rival, slot }])),
    );
  }

  /** The lines that take a slot, in whichever daemon. */
  holdersOf(slot: string): Entry[] {
    return [...this.#daemons].flatMap((daemon) => Array.from(this.#bySlot.get(`${daemon}\n${slot}`) ?? []));
  }

  /** What FRR drops by itself when the line is taken back. */
  goesWith(entry: Entry): Entry[] {
    const neighbor = neighborOf(entry.line);
    const [, watched] = /^(neighbor \S+ bfd)$/.exec(entry.line) ?? [];
    if (!entry.context && !neighbor && !watched) return [];
    return [...(this.#byTop.get(topOf(entry)) ?? [])].filter((other) => {
      if (other.key === entry.key) return false;
      if (entry.context) return other.key.startsWith(`${entry.key}\n`);
      if (watched) return other.path.length === entry.path.length && other.line.startsWith(`${watched} profile `);
      return other.line.startsWith(`neighbor ${neighbor} `) || other.line.startsWith(`no neighbor ${neighbor} `);
    });
  }
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
