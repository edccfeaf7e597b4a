import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { backoffMs } from "../../util/backoff.ts";
import { runInSlices, sleep } from "../../util/sleep.ts";
import type { Log } from "../../kube/log.ts";
import { manifestScans } from "./metrics.ts";
import type { ManifestSource } from "../store/declaration.ts";
import { WakeSignal } from "../../util/wake-signal.ts";
import { ManifestIndex } from "./manifest-index.ts";
import { ManifestSync, sourceOf } from "./sync.ts";
import { DirectoryWatcher, type ChangeCallback } from "./directory-watcher.ts";
import { exposedSecrets, ProblemList, rootProblems, type Problem } from "./problems.ts";
import { LEAVE_MS, ManifestReader } from "./reader.ts";
import { isHidden, nameOf, scan, type Scan, type ScanProgress } from "./scan.ts";
import { directoryIdentity, isLink, isManifestName, statFile, reasonOf, writeFile } from "./file-stat.ts";
import { MAX_DEBOUNCE_MS, DEBOUNCE_MS, Debouncer } from "./debounce.ts";
import type { KnownObject, ManifestTarget } from "./target.ts";

export interface DirectoryOptions {
  readonly root: string;
  readonly sink: ManifestTarget;
  readonly known?: Iterable<KnownObject>;
  readonly log: Log;
  readonly createWatcher?: (root: string, notify: ChangeCallback) => DirectoryWatcher;
}

/** The interval of full scans while all directories are watched. */
const SURVEY_MS = 10_000;
/** The interval if some cannot be watched, or the directory is missing. */
const SURVEY_DEAF_MS = 2_000;
/** How long objects stay after another directory replaced theirs, which may still be filled. */
const LEAVE_REPLACED_MS = 5_000;
const RETRY = { minMs: 500, maxMs: 30_000 };
/** More changed paths than this cause a full scan. */
const MANY = 2_000;

/**
 * Keeps the objects of a target equal to the manifests of a directory. A broken file does not remove objects: their last valid version
 * stays, and the file is listed among the problems.
 */
export class ManifestDirectory {
  readonly problems = new ProblemList();
  readonly #root: string;
  readonly #log: Log;
  readonly #index = new ManifestIndex();
  readonly #reader: ManifestReader;
  readonly #delivery: ManifestSync;
  readonly #debouncer = new Debouncer();
  readonly #watcher: DirectoryWatcher;
  readonly #wake = new WakeSignal();
  #scan: Scan | undefined;
  #surveyAt = 0;
  #rootIdentity: string | undefined;
  #lost: string | undefined;
  /** Whether the directory has returned or was replaced, and may still be filled. */
  #refilling = false;
  #heardAt = 0;
  /** Files whose problems must be computed again. */
  readonly #stale = new Set<string>();

  constructor({ root: given, sink, known = [], log, createWatcher }: DirectoryOptions) {
    const root = resolve(given);
    const notify = (path: string | undefined) => this.#onChange(path);
    this.#root = root;
    this.#log = log;
    this.#reader = new ManifestReader(root, this.#index, sink);
    this.#delivery = new ManifestSync(sink, this.#index, log);
    this.#watcher = createWatcher?.(root, notify) ?? new DirectoryWatcher(root, notify);
    for (const [path, objects] of Map.groupBy(known, ({ source }) => source.path)) this.#recall(path, objects);
  }

  async load(signal: AbortSignal, onProgress: (progress: ScanProgress) => void = () => {}): Promise<void> {
    const started = performance.now();
    try {
      await runInSlices(this.#pass(started, true, onProgress), signal);
    } catch (error) {
      this.#watcher.close();
      throw error;
    }
    const fields = { files: [...this.#reader.paths()].length, objects: this.#delivery.objects, problems: this.problems.list().length };
    this.#log.info({ ...fields, ms: Math.round(performance.now() - started) }, "manifests read");
  }

  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const now = performance.now();
      const next = this.#nextPass();
      if (now < next) {
        await this.#wake.wait(Math.min(Math.ceil(next - now), SURVEY_MS), signal);
        continue;
      }
      try {
        await runInSlices(this.#pass(now, false), signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        failures += 1;
        manifestScans.inc({ outcome: "failed" });
        this.#log.error({ error }, "cannot read the manifests, retrying");
        this.#surveyAt = 0;
        await sleep(backoffMs(failures, RETRY), signal).catch(() => {});
      }
    }
    this.#watcher.close();
  }

  /** The object is gone from the target. It is applied again if a file still has it. */
  lost(key: string): void {
    this.#delivery.lost(key, performance.now());
    this.#wake.ring();
  }

  sourceOf(key: string): ManifestSource | undefined {
    const claim = this.#index.holderOf(key);
    return claim && sourceOf(claim);
  }

  keysIn(path: string): string[] {
    return this.#index.claimsOf(path).map(({ key }) => key);
  }

  /** Writes a file, and records its content without waiting for the watch. */
  write(path: string, text: string): void {
    const bytes = Buffer.from(text);
    this.#reader.wrote(path, writeFile(`${this.#root}/${path}`, bytes), bytes);
    this.#stale.add(path);
    this.#wake.ring();
  }

  /** Removes a file and its objects at once. */
  erase(path: string): void {
    rmSync(`${this.#root}/${path}`, { force: true });
    this.#reader.erased(path);
    this.#stale.add(path);
    this.#wake.ring();
  }

  #recall(path: string, objects: readonly KnownObject[]): void {
    const found = objects.map(({ key, object, source }) => {
      this.#delivery.remember(key, object, source);
      return { key, manifest: { object, positions: new Uint32Array() }, line: source.line - 1 };
    });
    this.#index.readInPart(path, found);
    this.#index.readInPart(path, []);
  }

  #onChange(path: string | undefined): void {
    if (path !== undefined && nameOf(path).startsWith(".")) return;
    this.#heardAt = performance.now();
    this.#debouncer.hear(path === undefined || this.#debouncer.size > MANY ? "." : path, this.#heardAt);
    this.#wake.ring();
  }

  #nextPass(): number {
    if (this.#index.isTouched) return 0;
    if (this.#lost !== undefined) return this.#surveyAt;
    const next = Math.min(this.#surveyAt, this.#debouncer.next, this.#delivery.retryAt);
    return this.#debouncer.size > 0 ? next : Math.min(next, this.#index.nextLeave);
  }

  *#pass(now: number, loading: boolean, onProgress: (progress: ScanProgress) => void = () => {}): Generator<void> {
    const due = this.#debouncer.take(now);
    this.#checkRoot(now);
    if (loading || now >= this.#surveyAt || this.#isLeaving(now) || due.some((path) => this.#isForSurvey(path)))
      yield* this.#survey(now, loading, onProgress);
    else for (const path of due) yield* this.#readPath(path, now, loading);
    this.#release(now, loading);

    for (const paths of this.#delivery.deliver(now)) {
      for (const path of paths) this.#stale.add(path);
      yield;
    }
    for (const path of this.#stale) {
      this.#stale.delete(path);
      this.problems.set(path, this.#problemsOf(path));
      yield;
    }
  }

  /** If the directory is missing or was replaced, a full scan decides. */
  #checkRoot(now: number): void {
    if (this.#lost !== undefined || directoryIdentity(this.#root) !== this.#rootIdentity) this.#surveyAt = now;
  }

  /** Whether a change of this path requires a full scan. */
  #isForSurvey(path: string): boolean {
    if (path === "." || this.#scan?.directories.has(path)) return true;
    const at = `${this.#root}/${path}`;
    return statFile(at) === "directory" || (isManifestName(nameOf(path)) && !this.#reader.isKnown(path) && isLink(at));
  }

  *#readPath(path: string, now: number, loading: boolean): Generator<void> {
    if (!isManifestName(nameOf(path))) return;
    const again = yield* this.#reader.readPath(path, { now, loading });
    if (again !== undefined) this.#debouncer.hear(path, now, again);
    this.#stale.add(path);
    if (this.#scan?.files.get(path)?.linked) this.#watchLinked(path);
  }

  #watchLinked(path: string): void {
    const stat = statFile(`${this.#root}/${path}`);
    if (typeof stat === "object" && "identity" in stat) this.#watcher.watchFile(path, stat.identity);
  }

  *#survey(now: number, loading: boolean, onProgress: (progress: ScanProgress) => void): Generator<void> {
    const found = yield* this.#scanAll();
    this.#stale.add(".");
    const wasLost = this.#lost !== undefined;
    this.#lost = typeof found === "string" ? found : this.#emptied(found);
    const period = this.#lost !== undefined || this.#watcher.deaf !== undefined ? SURVEY_DEAF_MS : SURVEY_MS;
    this.#surveyAt = now + period * (0.9 + Math.random() / 5);
    manifestScans.inc({ outcome: this.#lost === undefined ? "done" : "away" });
    // Nothing is removed while the directory itself is missing.
    if (typeof found === "string" || this.#lost !== undefined) return;

    const identity = found.directories.get(".");
    if (wasLost || (this.#rootIdentity !== undefined && identity !== this.#rootIdentity)) this.#refilling = true;
    this.#rootIdentity = identity;
    for (const path of [...(this.#scan?.problems.keys() ?? []), ...found.problems.keys()]) this.#stale.add(path);
    this.#scan = found;
    this.#listen(found);
    yield* this.#readChanged(found, now, loading, onProgress);
    for (const path of new Set([...this.#reader.paths(), ...this.#index.paths()])) {
      if (found.files.has(path) || isHidden(found, path) || this.#isLeft(path)) continue;
      this.#reader.gone(path, loading ? now : now + (this.#refilling ? LEAVE_REPLACED_MS : LEAVE_MS));
      this.#stale.add(path);
    }
  }

  *#scanAll(): Generator<void, Scan | string> {
    try {
      return yield* scan(this.#root, (path, identity) => this.#watcher.watchDirectory(path, identity));
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** Unmounting a file system leaves an empty directory. */
  #emptied(found: Scan): string | undefined {
    const replaced = this.#rootIdentity !== undefined && found.directories.get(".") !== this.#rootIdentity;
    return replaced && found.files.size === 0 ? "was replaced by an empty directory" : undefined;
  }

  #listen({ directories, files }: Scan): void {
    const linked = [...files.keys()].filter((path) => files.get(path)?.linked);
    this.#watcher.keepOnly(new Set([...directories.keys(), ...linked]));
    for (const path of linked) this.#watchLinked(path);
  }

  *#readChanged({ files }: Scan, now: number, loading: boolean, onProgress: (progress: ScanProgress) => void): Generator<void> {
    const changed = [...files].filter(([path, stat]) => !this.#reader.isRead(path, stat));
    for (const [index, [path, { modified }]] of changed.entries()) {
      if (loading || (!this.#debouncer.has(path) && Math.abs(Date.now() - modified) >= DEBOUNCE_MS))
        yield* this.#readPath(path, now, loading);
      else if (!this.#debouncer.has(path)) this.#debouncer.hear(path, now);
      onProgress({ files: index + 1, of: changed.length });
      yield;
    }
  }

  #isLeft(path: string): boolean {
    return !this.#reader.isKnown(path) && this.#index.claimsOf(path).every(({ state }) => state === "leaving");
  }

  /** Before objects are removed, a full scan checks whether they moved to another file without a notification. */
  #isLeaving(now: number): boolean {
    return this.#lost === undefined && now >= this.#index.nextLeave;
  }

  #release(now: number, loading: boolean): void {
    if (!this.#isLeaving(now)) return;
    if (this.#refilling && now < this.#heardAt + LEAVE_REPLACED_MS) return this.#index.postpone(this.#heardAt + LEAVE_REPLACED_MS);
    this.#refilling = false;
    // A file that was just written may have it, unless it is written all the time.
    if (!loading && this.#debouncer.size > 0 && now < this.#index.nextLeave + MAX_DEBOUNCE_MS) return;
    this.#index.expire(now);
  }

  #problemsOf(path: string): Problem[] {
    const own = path === "." ? rootProblems(this.#root, this.#lost, this.#watcher.deaf, SURVEY_DEAF_MS) : [];
    const unread = this.#scan?.problems.get(path);
    if (unread !== undefined) own.push({ path, level: "error", message: `${unread}; keeping its last known objects` });
    return [
      ...own,
      ...this.#reader.problemsOf(path),
      ...this.#delivery.problemsOf(path),
      ...exposedSecrets(this.#root, path, this.#index.claimsOf(path)),
    ];
  }
}
