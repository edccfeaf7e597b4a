import { watch, type FSWatcher } from "node:fs";
import { basename } from "node:path";
import { pathIn } from "./scan.ts";
import { codeOf } from "./file-stat.ts";

/** The path that changed; undefined if it may be any. */
export type ChangeCallback = (path: string | undefined) => void;

interface Watched {
  readonly identity: string;
  readonly watcher: FSWatcher;
}

/**
 * Watches each directory by itself: Node's recursive watch on Linux takes one inotify watch per file, hidden ones included, and their
 * number is limited.
 */
export class DirectoryWatcher {
  readonly #root: string;
  readonly #notify: ChangeCallback;
  readonly #watched = new Map<string, Watched>();
  /** Paths that could not be watched, and why. */
  readonly #deaf = new Map<string, string>();

  constructor(root: string, notify: ChangeCallback) {
    this.#root = root;
    this.#notify = notify;
  }

  /** Why some changes may go unnoticed. */
  get deaf(): string | undefined {
    return this.#deaf.values().next().value;
  }

  watchDirectory(path: string, identity: string): void {
    const own = basename(this.#at(path));
    this.#watch(path, identity, (name) => {
      if (name !== null) this.#notify(pathIn(path, name));
      // A change of the directory itself is reported with its own name.
      if (name === null || name === own) this.#notify(path === "." ? undefined : path);
    });
  }

  /** The target of a link: its directory's watch does not report its changes. */
  watchFile(path: string, identity: string): void {
    this.#watch(path, identity, () => this.#notify(path));
  }

  /** Removes all other watches. */
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
      // A path that is gone needs no watch, and an unreadable one is reported by the reader.
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
