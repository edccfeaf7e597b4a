import type { ConfigEntry } from "./entry.ts";

/** The owners of each line. A line is wanted while it has an owner. */
export class DesiredLines {
  readonly #owners = new Map<string, readonly ConfigEntry[]>();
  readonly #counts = new Map<string, number>();
  readonly #touched = new Map<string, ConfigEntry>();

  has({ text }: Pick<ConfigEntry, "text">): boolean {
    return this.#counts.has(text);
  }

  /** Lines that gained their first owner or lost their last one since the last clear. */
  get touched(): Map<string, ConfigEntry> {
    return this.#touched;
  }

  find(isMeant: (entry: ConfigEntry) => boolean): ConfigEntry | undefined {
    for (const entries of this.#owners.values()) {
      const found = entries.find(isMeant);
      if (found) return found;
    }
    return undefined;
  }

  filter(isMeant: (entry: ConfigEntry) => boolean): ConfigEntry[] {
    return [...this.#owners.values()].flatMap((entries) => entries.filter(isMeant));
  }

  ownersOf({ key }: ConfigEntry): string[] {
    return [...this.#owners].filter(([, entries]) => entries.some((entry) => entry.key === key)).map(([owner]) => owner);
  }

  of(owner: string): readonly ConfigEntry[] {
    return this.#owners.get(owner) ?? [];
  }

  set(owner: string, entries: readonly ConfigEntry[]): ConfigEntry[] {
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

/** Several daemons may have the same line; it counts once. */
function textsOf(entries: readonly ConfigEntry[]): Set<string> {
  return new Set(entries.map(({ text }) => text));
}
