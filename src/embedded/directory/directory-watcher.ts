import { watch, type FSWatcher } from "node:fs";
import { basename } from "node:path";
import { pathIn } from "./scan.ts";
import { codeOf } from "./file-stat.ts";

/** Told of a path that something has happened to; undefined when that may be any. */
export type ChangeCallback = (path: string | undefined) => void;

interface Watched {
  readonly identity: string;
  readonly watcher: FSWatcher;
}

/**
 * Hears that something changes in a directory. Each directory is watched by itself: the recursive watch of Node on Linux takes a watch
 * for every single file, hidden ones included, and a machine has not many.
 */
export class DirectoryWatcher {
  readonly #root: string;
  readonly #notify: ChangeCallback;
  readonly #watched = new Map<string, Watched>();
  /** What could not be watched, and why. */
  readonly #deaf = new Map<string, string>();

  constructor(root: string, notify: ChangeCallback) {
    this.#root = root;
    this.#notify = notify;
  }

  /** Why not everything is heard. */
  get deaf(): string | undefined {
    return this.#deaf.values().next().value;
  }

  watchDirectory(path: string, identity: string): void {
    const own = basename(this.#at(path));
    this.#watch(path, identity, (name) => {
      if (name !== null) this.#notify(pathIn(path, name));
      // What happens to a directory itself is told under its own name.
      if (name === null || name === own) this.#notify(path === "." ? undefined : path);
    });
  }

  /** A file that is reached through a link: what happens to it is not heard in the directory. */
  watchFile(path: string, identity: string): void {
    this.#watch(path, identity, () => this.#notify(path));
  }

  /** Stops watching everything else. */
  keepOnly(paths: ReadonlySet<string>): void {
    for (const path of this.#watched.keys()) if (!paths.has(path)) this.#unwatch(path);
    for (const path of this.#deaf.keys()) if (!paths.has(path)) this.#deaf.delete(path);
  }

  close(): void {
    this.keepOnly(new Set());
  }

  #watch(path: string, identity: string, onEvent: (name: string | null) => void): void {
    if (this.#watched.get(path)?.identity === identity) return;
    this.#unwatch(path);
    try {
      const watcher = watch(this.#at(path), (_event, name) => onEvent(name));
      watcher.on("error", () => {
        this.#unwatch(path);
        this.#notify(undefined);
      });
      this.#watched.set(path, { identity, watcher });
      this.#deaf.delete(path);
    } catch (error) {
      // What has gone meanwhile needs no watch, and what cannot be read is reported where it is read.
      const code = codeOf(error) ?? "";
      if (["ENOSPC", "EMFILE", "ENFILE", "ENOSYS"].includes(code)) this.#deaf.set(path, code);
    }
  }

  #at(path: string): string {
    return path === "." ? this.#root : `${this.#root}/${path}`;
  }

  #unwatch(path: string): void {
    this.#watched.get(path)?.watcher.close();
    this.#watched.delete(path);
  }
}
