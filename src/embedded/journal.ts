import { closeSync, constants, fdatasync, fdatasyncSync, ftruncateSync, linkSync, openSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import type { Log } from "../kube/log.ts";
import {
  closeQuietly,
  readIfThere,
  reasonOf,
  removeQuietly,
  replaceWith,
  syncDirectory,
  truncate,
  writeAll,
  writeWhole,
} from "./journal-file.ts";
import { embeddedRewrites } from "./store/metrics.ts";
import { internalError } from "./store/api-error.ts";
import { StoreEntry } from "./store/entry.ts";
import { HEADER, lineOf } from "./store/record.ts";
import { ForeignState, recover, type LostRecord, type Recovered, type RecoveredObject } from "./store/recovery.ts";
import type { ChangeLog, ChangeLogEntry, Restored } from "./store/change-log.ts";

export interface StateJournalOptions {
  readonly log: Log;
  /** Objects of kinds that are not served are kept but not shown. */
  readonly serves: (resource: string) => boolean;
  /** Smaller files are never rewritten. */
  readonly compactAboveBytes?: number;
}

export interface Opened {
  readonly journal: StateJournal;
  readonly restored: Restored;
  /** Records that could not be read, and the new path of the damaged file. */
  readonly damage: { readonly lost: readonly LostRecord[]; readonly setAside: string } | undefined;
}

const COMPACT_ABOVE_BYTES = 8 * 1024 * 1024;
const SYNC_MS = 1_000;
/** The new file of a rewrite is appended to after it has replaced the old one. */
const TRUNCATE_AND_APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND;
/** A power cut may lose the last second; later revisions must not reuse its numbers. */
const REVISIONS_PER_START = 1_000_000;

const syncData = promisify(fdatasync);

/**
 * The state on disk: one file with one checksummed line per change, appended before the change is visible. A killed process loses nothing.
 * A power cut loses at most the last second, since the file is synced once a second.
 */
export class StateJournal implements ChangeLog {
  readonly #path: string;
  readonly #options: Required<StateJournalOptions>;
  readonly #strangers: readonly RecoveredObject[];
  readonly #timer: NodeJS.Timeout;
  #file: number;
  #size: number;
  /** The size after the last rewrite. */
  #compactSize: number;
  /** Whether bytes of a failed write may follow #size. */
  #tornTail = false;
  #unsynced = false;
  /** Whether the rename is not yet synced to the directory. */
  #renamed = true;
  #snapshot: (() => ChangeLogEntry[]) | undefined;
  /** Lines that were appended during a rewrite. */
  #meanwhile: Buffer[] | undefined;
  #compacting: Promise<void> = Promise.resolve();
  /** A running sync still uses the file. */
  #syncing: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(path: string, options: Required<StateJournalOptions>, strangers: readonly RecoveredObject[], compactSize: number) {
    this.#path = path;
    this.#options = options;
    this.#strangers = strangers;
    this.#file = openSync(path, "a", 0o600);
    this.#size = statSync(path).size;
    this.#compactSize = compactSize;
    this.#timer = setInterval(() => {
      this.#syncing = this.#syncing.then(() => this.#sync());
    }, SYNC_MS);
    this.#timer.unref();
  }

  /** Reads the state, and moves a damaged file aside. */
  static open(path: string, options: StateJournalOptions): Opened {
    const settings = { compactAboveBytes: COMPACT_ABOVE_BYTES, ...options };
    const content = readIfThere(path);
    const recovered = recoverFrom(path, content);
    const { lost, objects, wholeBytes, revision } = recovered;
    const setAside = lost.length > 0 ? setAsideDamaged(path, recovered) : undefined;
    if (setAside === undefined && wholeBytes === 0) replaceWith(path, [HEADER]);
    else if (setAside === undefined && wholeBytes < content.length) truncate(path, wholeBytes);

    const all = [...objects.values()];
    const [known, strangers] = [
      all.filter(({ resource }) => settings.serves(resource)),
      all.filter(({ resource }) => !settings.serves(resource)),
    ];
    const compactSize = all.reduce((size, { bytes }) => size + bytes, 0);
    const journal = new StateJournal(path, settings, strangers, compactSize);
    const next = revision === 0 ? 0 : (Math.floor(revision / REVISIONS_PER_START) + 1) * REVISIONS_PER_START;
    return { journal, restored: { revision: next, objects: known }, damage: setAside === undefined ? undefined : { lost, setAside } };
  }

  /** Enables rewrites; `snapshot` returns the whole state. */
  compactFrom(snapshot: () => ChangeLogEntry[]): void {
    this.#snapshot = snapshot;
  }

  append(change: ChangeLogEntry): void {
    const line = lineOf(change);
    this.#write(line);
    this.#meanwhile?.push(line);
    const { compactAboveBytes } = this.#options;
    if (this.#size > Math.max(compactAboveBytes, 3 * this.#compactSize) && !this.#meanwhile) this.#compacting = this.#compact();
  }

  /** Syncs everything to the disk. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closed = true;
    await this.#compacting;
    await this.#syncing;
    await this.#sync();
    closeSync(this.#file);
  }

  #write(line: Buffer): void {
    try {
      if (this.#tornTail) ftruncateSync(this.#file, this.#size);
      this.#tornTail = true;
      writeWhole(this.#file, line);
      this.#tornTail = false;
      this.#size += line.length;
      this.#unsynced = true;
    } catch (error) {
      throw cannotWrite(error);
    }
  }

  async #sync(): Promise<void> {
    if (!this.#unsynced) return;
    const renamed = this.#renamed;
    this.#unsynced = false;
    this.#renamed = false;
    try {
      await syncData(this.#file);
      if (renamed) await syncDirectory(dirname(this.#path));
    } catch (error) {
      this.#unsynced = true;
      this.#renamed ||= renamed;
      this.#options.log.error({ file: this.#path, error }, "cannot sync the state file to disk");
    }
  }

  /** Writes the whole state to a new file that replaces the old one. */
  async #compact(): Promise<void> {
    const { log } = this.#options;
    if (!this.#snapshot) return;
    const meanwhile: Buffer[] = [];
    this.#meanwhile = meanwhile;
    const path = `${this.#path}.new`;
    let file: number | undefined;
    try {
      // The change that is being appended is in memory only after this tick.
      await setImmediate();
      const snapshot = this.#snapshot();
      file = openSync(path, TRUNCATE_AND_APPEND, 0o600);
      const strangers = this.#strangers.map(recordOf);
      let size = await writeAll(file, [HEADER, ...strangers]);
      for (let at = 0; at < snapshot.length && !this.#closed; at += 64)
        size += await writeAll(file, snapshot.slice(at, at + 64).map(lineOf));
      const compactSize = size;
      await syncData(file);
      if (this.#closed) throw new Error("closed in the meantime");
      // From here on in one tick, so that nothing is appended in between.
      for (const line of meanwhile) {
        writeWhole(file, line);
        size += line.length;
      }
      // The old file may have synced these lines long ago.
      if (meanwhile.length > 0) fdatasyncSync(file);
      renameSync(path, this.#path);
      // Nothing after the rename may fail: the file under the name is the one that is written to.
      const outdated = this.#file;
      this.#file = file;
      void this.#syncing.then(() => closeQuietly(outdated));
      this.#size = size;
      this.#compactSize = compactSize;
      this.#tornTail = false;
      this.#unsynced = true;
      this.#renamed = true;
      embeddedRewrites.inc({ outcome: "done" });
    } catch (error) {
      embeddedRewrites.inc({ outcome: "failed" });
      if (file !== undefined) closeQuietly(file);
      removeQuietly(path);
      // Don't retry before the file has grown a good deal.
      this.#compactSize = this.#size / 2;
      if (!this.#closed) log.warn({ file: this.#path, error }, "cannot compact the state file; it keeps growing");
    } finally {
      this.#meanwhile = undefined;
    }
  }
}

function recoverFrom(path: string, content: Buffer): Recovered {
  try {
    return recover(content);
  } catch (error) {
    if (!(error instanceof ForeignState)) throw error;
    throw new Error(`Cannot use the state in ${path}: ${error.message}; use the plumbline version that wrote it, or move the file away`, {
      cause: error,
    });
  }
}

/** The damaged file is renamed; a new one has everything that could be read. */
function setAsideDamaged(path: string, { objects }: Recovered): string {
  const setAside = `${path.replace(/\.log$/, "")}.damaged-${new Date().toISOString().replaceAll(":", "-")}`;
  linkSync(path, setAside);
  replaceWith(path, [HEADER, ...[...objects.values()].map(recordOf)]);
  return setAside;
}

function recordOf({ resource, object, revision, declaration }: RecoveredObject): Buffer {
  const { name, namespace } = object.metadata;
  const key = namespace === undefined ? name : `${namespace}/${name}`;
  return lineOf({ revision, resource, key, entry: new StoreEntry(object, revision), declaration });
}

function cannotWrite(error: unknown): Error {
  return internalError(`cannot write state: ${reasonOf(error)}`, error);
}
