import type { Entry } from "./entry.ts";

/** Who asks for which lines. A line is asked for as long as one owner asks for it. */
export class Asked {
  readonly #owners = new Map<string, readonly Entry[]>();
  readonly #counts = new Map<string, number>();
  readonly #touched = new Map<string, Entry>();

  has({ text }: Pick<Entry, "text">): boolean {
    return this.#counts.has(text);
  }

  /** Lines that somebody began or ceased to ask for since the last time that this was emptied. */
  get touched(): Map<string, Entry> {
    return this.#touched;
  }

  find(isMeant: (entry: Entry) => boolean): Entry | undefined {
    for (const entries of this.#owners.values()) {
      const found = entries.find(isMeant);
      if (found) return found;
    }
    return undefined;
  }

  filter(isMeant: (entry: Entry) => boolean): Entry[] {
    return [...this.#owners.values()].flatMap((entries) => entries.filter(isMeant));
  }

  ownersOf({ key }: Entry): string[] {
    return [...this.#owners].filter(([, entries]) => entries.some((entry) => entry.key === key)).map(([owner]) => owner);
  }

  of(owner: string): readonly Entry[] {
    return this.#owners.get(owner) ?? [];
  }

  /** Gives an owner other lines than before, and tells which ones nobody asks for any more. */
  set(owner: string, entries: readonly Entry[]): Entry[] {
    const before = this.of(owner);
    if (before === entries) return [];
    for (const entry of before) this.#touched.set(entry.key, entry);
    for (const entry of entries) this.#touched.set(entry.key, entry);
    if (entries.length) this.#owners.set(owner, entries);
    else this.#owners.delete(owner);
    for (const text of textsOf(entries)) this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1);
    for (const text of textsOf(before)) {
      const left = (this.#counts.get(text) ?? 0) - 1;
      if (left > 0) this.#counts.set(text, left);
      else this.#counts.delete(text);
    }
    return before.filter((entry) => !this.has(entry));
  }
}

/** Several daemons may have the same line; it is asked for once. */
function textsOf(entries: readonly Entry[]): Set<string> {
  return new Set(entries.map(({ text }) => text));
}
