import type { ManifestObject } from "../manifests/manifests.ts";

export interface FoundObject {
  readonly key: string;
  readonly manifest: ManifestObject;
  /** The first line of its document, from 0. */
  readonly line: number;
}

/**
 * `there`: the file has it. `kept`: the file had it when it was last read completely. `leaving`: the file no longer has it, but may be in
 * the middle of a save.
 */
export type EntryState = "there" | "kept" | "leaving";

export interface ManifestEntry extends FoundObject {
  readonly path: string;
  readonly state: EntryState;
  /** When a leaving one is removed. */
  readonly leavesAt: number;
}

/** Which file declares which object. If several do, the first path wins. */
export class ManifestIndex {
  readonly #byKey = new Map<string, ManifestEntry[]>();
  readonly #byPath = new Map<string, ManifestEntry[]>();
  #touched = new Set<string>();
  readonly #leaving = new Set<string>();

  /** After a complete read: objects that are missing from it start to leave. */
  read(path: string, found: readonly FoundObject[], leavesAt: number): void {
    this.#replace(path, found, "leaving", leavesAt);
  }

  /** After a partial read: objects that are missing from it stay. */
  readInPart(path: string, found: readonly FoundObject[]): void {
    this.#replace(path, found, "kept", Infinity);
  }

  /** Removes the entries of a file without delay. */
  forget(path: string): void {
    this.#set(path, []);
  }

  claimsOf(path: string): readonly ManifestEntry[] {
    return this.#byPath.get(path) ?? [];
  }

  holderOf(key: string): ManifestEntry | undefined {
    return this.#byKey.get(key)?.[0];
  }

  /** Every file that declares the object, the effective one first. */
  pathsOf(key: string): string[] {
    return (this.#byKey.get(key) ?? []).map(({ path }) => path);
  }

  paths(): Iterable<string> {
    return this.#byPath.keys();
  }

  leaving(): string[] {
    return [...this.#leaving];
  }

  get nextLeave(): number {
    let next = Infinity;
    for (const path of this.#leaving) for (const { leavesAt } of this.claimsOf(path)) next = Math.min(next, leavesAt);
    return next;
  }

  expire(now: number): void {
    for (const path of this.#leaving) {
      const staying = this.claimsOf(path).filter(({ state, leavesAt }) => state !== "leaving" || leavesAt > now);
      if (staying.length < this.claimsOf(path).length) this.#set(path, staying);
    }
  }

  postpone(leavesAt: number): void {
    for (const path of this.#leaving) {
      const claims = this.claimsOf(path).map((claim) =>
        claim.state === "leaving" ? withState(claim, "leaving", Math.max(claim.leavesAt, leavesAt)) : claim,
      );
      this.#set(path, claims);
    }
  }

  /** The keys that changed since the last call. */
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

/** `there` before the others; then by path, and within a file by line (the sort is stable). */
function byPrecedence(a: ManifestEntry, b: ManifestEntry): number {
  const there = Number(b.state === "there") - Number(a.state === "there");
  return there || (a.path < b.path ? -1 : Number(a.path > b.path));
}
