import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { vi } from "vitest";
import { createLog } from "../../kube/log.ts";
import { ManifestDirectory } from "../directory/directory.ts";
import type { ScanProgress } from "../directory/scan.ts";
import type { KnownObject } from "../directory/target.ts";
import { DirectoryWatcher, type ChangeCallback } from "../directory/directory-watcher.ts";
import { MemoryStore, texts } from "./memory-store.ts";

/** Delivers only the file events of the test. */
class ManualWatcher extends DirectoryWatcher {
  override watchDirectory(): void {}
  override watchFile(): void {}
}

/** For tests: a real directory under fake time; file events come only from the test. */
export class DirectoryHarness {
  readonly parent = mkdtempSync(join(tmpdir(), "plumbline-files-"));
  readonly root = join(this.parent, "manifests");
  readonly sink = new MemoryStore();
  notify: ChangeCallback = () => {};
  #directory: ManifestDirectory | undefined;
  #stop: () => Promise<void> = async () => {};

  constructor() {
    // The files are younger than any moment that the directory looks at them.
    vi.useFakeTimers({ now: Date.now() - 60_000 });
    mkdirSync(this.root);
  }

  get directory(): ManifestDirectory {
    if (!this.#directory) throw new Error("not opened");
    return this.#directory;
  }

  /** Reads what is there, without following it. */
  async open(known: readonly KnownObject[] = [], onProgress?: (progress: ScanProgress) => void): Promise<void> {
    const { root, sink } = this;
    const watcher = (root: string, notify: ChangeCallback) => new ManualWatcher(root, (this.notify = notify));
    this.#directory = new ManifestDirectory({ root, sink, known, log: createLog({ level: "silent" }), createWatcher: watcher });
    await this.#directory.load(new AbortController().signal, onProgress);
  }

  /** Reads what is there and follows it. */
  async start(files: Readonly<Record<string, string>> = {}, known: readonly KnownObject[] = []): Promise<void> {
    for (const [path, text] of Object.entries(files)) this.put(path, text);
    await this.open(known);
    const stopping = new AbortController();
    const running = this.directory.run(stopping.signal);
    this.#stop = async () => {
      stopping.abort();
      await running;
    };
    await this.synced();
    this.sink.happened.length = 0;
  }

  async end(): Promise<void> {
    await this.#stop();
    vi.useRealTimers();
    rmSync(this.parent, { recursive: true, force: true });
  }

  at(path: string): string {
    return join(this.root, path);
  }

  /** Writes a file without a file event. */
  put(path: string, text: string): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), text);
  }

  edit(path: string, text: string): void {
    this.put(path, text);
    this.notify(path);
  }

  remove(path: string): void {
    rmSync(this.at(path), { recursive: true });
    this.notify(path);
  }

  async pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
  }

  /** Long enough for a quiet file to be read. */
  heard(): Promise<void> {
    return this.pass(25);
  }

  /** Long enough for everything but the regular survey. */
  synced(): Promise<void> {
    return this.pass(6_000);
  }

  get problems(): string[] {
    return texts(this.directory.problems.list());
  }

  /** An object that was there, from a file, when the process ran last. */
  known(name: string, value: number, path: string, line = 1): KnownObject {
    const object = { apiVersion: "test/v1", kind: "Thing", metadata: { name }, spec: { value } };
    this.sink.apply(object, { path, line });
    return { key: `thing/${name}`, object, source: { path, line } };
  }
}
