import type { ManifestObject } from "../manifests/manifests.ts";

/** An object that a file has. */
export interface FoundObject {
  readonly key: string;
  readonly manifest: ManifestObject;
  /** The line of the file, from 0, that places in the manifest are counted from. */
  readonly line: number;
}

/**
 * `there`: it stands in the file. `kept`: it stood there when all of the file could last be read. `leaving`: it no longer does, but the
 * file may be in the middle of being saved.
 */
export type EntryState = "there" | "kept" | "leaving";

export interface ManifestEntry extends FoundObject {
  readonly path: string;
  readonly state: EntryState;
  /** When a leaving one is given up. */
  readonly leavesAt: number;
}

/** Which file says what about which object. When several do, the first path has it. */
export class ManifestIndex {
  readonly #byKey = new Map<string, ManifestEntry[]>();
  readonly #byPath = new Map<string, ManifestEntry[]>();
  #touched = new Set<string>();
  readonly #leaving = new Set<string>();

  /** The whole file has been read: what is not in it any more is on its way out. */
  read(path: string, found: readonly FoundObject[], leavesAt: number): void {
    this.#replace(path, found, "leaving", leavesAt);
  }

  /** Only parts of the file could be read, or nothing: what is not in these may still be in the rest. */
  readInPart(path: string, found: readonly FoundObject[]): void {
    this.#replace(path, found, "kept", Infinity);
  }

  /** What the file had counts no more, without delay. */
  forget(path: string): void {
    this.#set(path, []);
  }

  /** The claims of a file, in the order of its lines. */
  claimsOf(path: string): readonly ManifestEntry[] {
    return this.#byPath.get(path) ?? [];
  }

  /** Who has the object. */
  holderOf(key: string): ManifestEntry | undefined {
    return this.#byKey.get(key)?.[0];
  }

  /** Every file that has a say about the object, the holder first. */
  pathsOf(key: string): string[] {
    return (this.#byKey.get(key) ?? []).map(({ path }) => path);
  }

  paths(): Iterable<string> {
    return this.#byPath.keys();
  }

  /** Files of which something is leaving. */
  leaving(): string[] {
    return [...this.#leaving];
  }

  /** When the next leaving claim is due. */
  get nextLeave(): number {
    let next = Infinity;
    for (const path of this.#leaving) for (const { leavesAt } of this.claimsOf(path)) next = Math.min(next, leavesAt);
    return next;
  }

  /** Gives up what is due. */
  expire(now: number): void {
    for (const path of this.#leaving) {
      const staying = this.claimsOf(path).filter(({ state, leavesAt }) => state !== "leaving" || leavesAt > now);
      if (staying.length < this.claimsOf(path).length) this.#set(path, staying);
    }
  }

  /** Gives what is leaving more time. */
  postpone(leavesAt: number): void {
    for (const path of this.#leaving) {
      const claims = this.claimsOf(path).map((claim) =>
        claim.state === "leaving" ? withState(claim, "leaving", Math.max(claim.leavesAt, leavesAt)) : claim,
      );
      this.#set(path, claims);
    }
  }

  /** The objects that something was said about since this was last asked. */
  takeTouched(): Set<string> {
    const touched = this.#touched;
    this.#touched = new Set();
    return touched;
  }

  get isTouched(): boolean {
    return this.#touched.size > 0;
  }

  touch(key: string): void {
    this.#touched.add(key);
  }

  #replace(path: string, found: readonly FoundObject[], state: EntryState, leavesAt: number): void {
    const before = Map.groupBy(this.claimsOf(path), ({ key }) => key);
    const keys = new Set(found.map(({ key }) => key));
    const there = found.map(({ key, manifest, line }): ManifestEntry => {
      const existing = before.get(key)?.find((claim) => claim.manifest === manifest && claim.line === line && claim.state === "there");
      return existing ?? { key, manifest, line, path, state: "there", leavesAt: Infinity };
    });
    const lost = Array.from(before.values(), ([first]) => first).filter((claim) => claim !== undefined);
    this.#set(path, [...there, ...lost.filter(({ key }) => !keys.has(key)).map((claim) => withState(claim, state, leavesAt))]);
  }

  #set(path: string, claims: ManifestEntry[]): void {
    const before = Map.groupBy(this.claimsOf(path), ({ key }) => key);
    const after = Map.groupBy(claims, ({ key }) => key);
    if (claims.length === 0) this.#byPath.delete(path);
    else this.#byPath.set(path, claims);
    if (claims.some(({ state }) => state === "leaving")) this.#leaving.add(path);
    else this.#leaving.delete(path);

    for (const key of before.keys()) if (!after.has(key)) this.#setKey(path, key, []);
    for (const [key, own] of after) {
      const existing = before.get(key);
      if (existing?.length !== own.length || own.some((claim, index) => claim !== existing[index])) this.#setKey(path, key, own);
    }
  }

  #setKey(path: string, key: string, own: readonly ManifestEntry[]): void {
    const all = [...(this.#byKey.get(key) ?? []).filter((claim) => claim.path !== path), ...own];
    if (all.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, all.sort(byPrecedence));
    this.#touched.add(key);
  }
}

function withState(claim: ManifestEntry, state: EntryState, leavesAt: number): ManifestEntry {
  return { ...claim, state, leavesAt };
}

/** What really stands in a file comes before what once did; then the first path, and in one file the first line (the sort is stable). */
function byPrecedence(a: ManifestEntry, b: ManifestEntry): number {
  const there = Number(b.state === "there") - Number(a.state === "there");
  return there || (a.path < b.path ? -1 : Number(a.path > b.path));
}
