import { readdirSync, statSync, type Dirent } from "node:fs";
import { identityOf, isManifestName, statFile, reasonOf, type FileStat } from "./file-stat.ts";

interface ScannedFile extends FileStat {
  readonly linked: boolean;
}

export interface ScanProgress {
  readonly files: number;
  readonly of: number;
}

export interface Scan {
  readonly files: ReadonlyMap<string, ScannedFile>;
  /** Every directory with its identity. */
  readonly directories: ReadonlyMap<string, string>;
  /** Directories that could not be read, and why. */
  readonly problems: ReadonlyMap<string, string>;
}

/** Replaced when the file is read. */
const UNREAD = { fingerprint: "", identity: "", modified: 0 };

interface DirectoryEntry {
  readonly path: string;
  readonly linked: boolean;
  readonly above: readonly string[];
}

/** A home directory that is given by mistake is rejected instead of scanned. */
const MAX_ENTRIES = 200_000;

/**
 * Calls `onDirectory` before each directory is read. Throws if the root cannot be read. A path through a link counts only if the file is
 * not found without one.
 */
export function* scan(
  root: string,
  onDirectory: (path: string, identity: string) => void,
  maxEntries = MAX_ENTRIES,
): Generator<void, Scan> {
  const walk = new Walk(root, onDirectory, maxEntries);
  const identity = identityOf(statSync(root));
  readdirSync(root);
  yield* walk.into({ path: ".", linked: false, above: [] }, identity);
  for (let link = walk.links.shift(); link; link = walk.links.shift()) yield* walk.follow(link);
  return walk;
}

/** Whether the file may exist although the scan did not find it. */
export function isHidden({ problems }: Scan, path: string): boolean {
  if (problems.size === 0) return false;
  for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1)) {
    if (problems.has(path.slice(0, slash))) return true;
  }
  return problems.has(".");
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function pathIn(directory: string, name: string): string {
  return directory === "." ? name : `${directory}/${name}`;
}

class Walk implements Scan {
  readonly files = new Map<string, ScannedFile>();
  readonly directories = new Map<string, string>();
  readonly problems = new Map<string, string>();
  readonly links: DirectoryEntry[] = [];
  readonly #root: string;
  readonly #onDirectory: (path: string, identity: string) => void;
  readonly #visited = new Set<string>();
  readonly #maxEntries: number;
  #entries = 0;

  constructor(root: string, onDirectory: (path: string, identity: string) => void, maxEntries: number) {
    this.#root = root;
    this.#onDirectory = onDirectory;
    this.#maxEntries = maxEntries;
  }

  *into(entry: DirectoryEntry, identity: string): Generator<void> {
    this.#visited.add(identity);
    this.#onDirectory(entry.path, identity);
    this.directories.set(entry.path, identity);
    const above = [...entry.above, identity];
    for (const dirent of this.#entriesOf(entry.path)) {
      const inner = { path: pathIn(entry.path, dirent.name), linked: entry.linked, above };
      this.#entries += 1;
      if (this.#entries > this.#maxEntries) break;
      if (dirent.isSymbolicLink()) this.links.push({ ...inner, linked: true });
      else if (dirent.isDirectory()) yield* this.#directory(inner);
      else if (isManifestName(dirent.name)) this.#file(inner);
      yield;
    }
    if (this.#entries > this.#maxEntries) this.problems.set(".", `has more than ${this.#maxEntries} entries; the rest is not read`);
  }

  *follow(link: DirectoryEntry): Generator<void> {
    const target = statFile(`${this.#root}/${link.path}`);
    if (target === "directory") yield* this.#directory(link);
    else if (isManifestName(nameOf(link.path))) this.#file(link);
  }

  *#directory(entry: DirectoryEntry): Generator<void> {
    try {
      const identity = identityOf(statSync(`${this.#root}/${entry.path}`));
      if (entry.above.includes(identity)) this.problems.set(entry.path, "is a symlink to a parent directory; not followed");
      else if (!this.#visited.has(identity)) yield* this.into(entry, identity);
    } catch (error) {
      this.problems.set(entry.path, reasonOf(error));
    }
  }

  #file({ path, linked }: DirectoryEntry): void {
    const stat = statFile(`${this.#root}/${path}`);
    if (stat === "missing" || stat === "directory") return;
    if ("unreadable" in stat) this.files.set(path, { ...UNREAD, linked });
    else if (!linked || !this.#visited.has(stat.identity)) {
      this.#visited.add(stat.identity);
      this.files.set(path, { ...stat, linked });
    }
  }

  #entriesOf(path: string): Dirent[] {
    try {
      const entries = readdirSync(`${this.#root}/${path}`, { withFileTypes: true });
      return entries.filter(({ name }) => !name.startsWith(".")).sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      this.problems.set(path, reasonOf(error));
      return [];
    }
  }
}
