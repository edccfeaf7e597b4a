import type { Block, ConfigSet } from "./config-set.ts";
import { VersionFormat } from "./version-format.ts";
import type { ConfigEntry } from "./entry.ts";
import type { ConfigLine, Fragment } from "./fragment.ts";
import { isBuiltInLine } from "./grammar.ts";
import type { FrrInstance } from "./instance.ts";
import type { FrrVersion } from "./client.ts";

const memories = new WeakMap<FrrInstance, PassCache>();

/** What one pass knows at its end, to save work in the next. All of it can be recomputed. */
export class PassCache {
  readonly dialect: VersionFormat;
  readonly desired = new DesiredLines();
  readonly fragments = new Map<string, Fragment>();
  /** FRR's lines for raw text. */
  appliedRaw: { readonly text: string; readonly entries: readonly ConfigEntry[] } | undefined;
  readonly #version: string;
  #differed = "";
  /** FRR's lines when they matched the desired ones exactly. */
  #clean: ReadonlyMap<string, Block> | undefined;
  /** The same, to go on with. */
  #have: ConfigSet | undefined;
  #isTrusted = false;
  /** The daemons that have these lines. */
  #identity: string | undefined;

  private constructor(version: FrrVersion) {
    this.#version = version.text;
    this.dialect = new VersionFormat(version);
  }

  /** An interrupted pass stores nothing: its knowledge may be wrong. */
  static take(instance: FrrInstance, version: FrrVersion): PassCache {
    const memory = memories.get(instance);
    memories.delete(instance);
    return memory && memory.#version === version.text ? memory : new PassCache(version);
  }

  keepFor(instance: FrrInstance): void {
    memories.set(instance, this);
  }

  /** Lines without an owner, and missing ones. Compares only what changed since the last exact match. */
  differences(have: ConfigSet): Differences {
    const clean = this.#clean;
    const isStray = (entry: ConfigEntry) => !this.desired.has(entry) && !isBuiltInLine(entry.path, entry.line);
    const isMissing = (entry: ConfigEntry) => this.desired.has(entry) && !have.has(entry) && this.dialect.owns(entry);
    if (!clean) return { stray: have.filter(isStray), missing: this.desired.filter(isMissing) };

    const stray = new Set<ConfigEntry>();
    const missing = new Set<ConfigEntry>();
    for (const [top, block] of have.blocks) {
      if (clean.get(top) !== block) for (const entry of block.values()) if (isStray(entry)) stray.add(entry);
    }
    for (const [top, block] of clean) {
      if (have.blocks.get(top) !== block) for (const entry of block.values()) if (isMissing(entry)) missing.add(entry);
    }
    for (const entry of this.desired.touched.values()) {
      for (const there of this.everywhere(entry, have)) if (isStray(there)) stray.add(there);
      if (isMissing(entry)) missing.add(entry);
    }
    return { stray: [...stray], missing: [...missing] };
  }

  /** The line in every daemon that has it. */
  everywhere(entry: ConfigEntry, have: ConfigSet): ConfigEntry[] {
    return this.dialect.daemons.flatMap((daemon) => have.inDaemon(daemon, entry) ?? []);
  }

  /** The desired lines are present, and no others. */
  isClean(have: ConfigSet, identity: string): void {
    this.#clean = have.share();
    this.#have = have;
    this.#isTrusted = false;
    this.#identity = identity;
    this.desired.touched.clear();
  }

  /** All desired lines must be present, although they were not read back. */
  trust(have: ConfigSet, identity: string): void {
    this.#have = have;
    this.#isTrusted = true;
    this.#identity = identity;
  }

  get isTrusted(): boolean {
    return this.#isTrusted;
  }

  /** Whether these differences are new since the last repair: one attempt is enough. */
  isNew(differed: readonly string[]): boolean {
    const before = this.#differed;
    this.#differed = differed.join("\n");
    return this.#differed !== "" && this.#differed !== before;
  }

  /** The next pass must read everything. */
  isInDoubt(): void {
    this.#identity = undefined;
  }

  /** The lines of the last read, if the daemons are the same. */
  lastRead(identity: string): ConfigSet | undefined {
    return this.#identity === identity ? this.#have : undefined;
  }

  /** Returns the known equal fragment, if any. */
  known(fragment: Fragment): Fragment {
    const known = this.fragments.get(fragment.owner);
    return known && areSame(known.lines, fragment.lines) ? known : fragment;
  }

  forgetOthers(owners: ReadonlySet<string>): void {
    for (const owner of this.fragments.keys()) {
      if (owners.has(owner)) continue;
      this.fragments.delete(owner);
      this.desired.set(owner, []);
    }
  }
}

interface Differences {
  readonly stray: readonly ConfigEntry[];
  readonly missing: readonly ConfigEntry[];
}

/** Asked of every fragment in every pass. */
function areSame(these: readonly ConfigLine[], those: readonly ConfigLine[]): boolean {
  if (these === those) return true;
  if (these.length !== those.length) return false;
  for (let at = 0; at < these.length; at++) {
    const [one, other] = [these[at] as ConfigLine, those[at] as ConfigLine];
    if (one.line !== other.line) return false;
    if (one.inside && other.inside ? !areSame(one.inside, other.inside) : one.inside !== other.inside) return false;
  }
  return true;
}

/** The owners of each line. A line is wanted while it has an owner. */
class DesiredLines {
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
