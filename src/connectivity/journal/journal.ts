import { copyFile, type FileHandle, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { backoffMs } from "../../util/backoff.ts";
import type { Log } from "../../kube/log.ts";
import { checkJournalUsable } from "../metrics.ts";
import type { Attempt } from "../history/attempt.ts";
import type { CheckHistory } from "../history/history.ts";
import { reduce } from "../history/reduce.ts";
import type { RecordedOutages } from "../history/outage-events.ts";
import { HEADER, type JournalRecord, lineOf } from "./record.ts";
import { type JournalEntry, journalEntries, replay } from "./replay.ts";

export interface CheckJournalOptions {
  readonly log: Log;
  /** Smaller files are never rewritten. */
  readonly rewriteAboveBytes?: number;
}

interface Waiting {
  readonly line: Buffer;
  readonly done: (isOnDisk: boolean) => void;
}

const REWRITE_ABOVE_BYTES = 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const RETRY = { minMs: 30_000, maxMs: 600_000 };

/**
 * The results of a source on its own disk, for restarts and while the API is unreachable. Appends that wait for the disk share the next
 * write, and each resolves when its line is on the disk. A check is known from its first snapshot until it is forgotten. Without a usable
 * disk the source continues without it, and retries now and then.
 */
export class CheckJournal {
  readonly #directory: string;
  readonly #path: string;
  readonly #log: Log;
  readonly #rewriteAboveBytes: number;
  #checks = new Map<string, JournalEntry>();
  /** Until then the file may have the only copy of its content, and must not be rewritten. */
  #isRead = false;
  /** Undefined while the disk is not usable. */
  #file: FileHandle | undefined;
  #size = 0;
  /** The size after the last rewrite. */
  #compactSize = 0;
  #failures = 0;
  #retryAt = -Infinity;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #closed = false;

  private constructor(directory: string, { log, rewriteAboveBytes = REWRITE_ABOVE_BYTES }: CheckJournalOptions) {
    this.#directory = directory;
    this.#path = join(directory, "journal");
    this.#log = log;
    this.#rewriteAboveBytes = rewriteAboveBytes;
  }

  static async open(
    directory: string,
    options: CheckJournalOptions,
  ): Promise<{ journal: CheckJournal; recovered: Map<string, JournalEntry> }> {
    const journal = new CheckJournal(directory, options);
    await journal.#recover().catch((error: unknown) => journal.#giveUp(error));
    return { journal, recovered: new Map(journal.#checks) };
  }

  /** The state of the check, new or updated. */
  async snapshot(uid: string, history: CheckHistory): Promise<boolean> {
    const existing = this.#checks.get(uid);
    if (existing?.history === history) return this.#file !== undefined;
    this.#checks.set(uid, journalEntries(history, existing?.recorded));
    return this.#put({ uid, history });
  }

  async append(uid: string, attempt: Attempt): Promise<boolean> {
    const existing = this.#checks.get(uid);
    const history = existing && reduce(existing.history, attempt);
    if (!existing || !history || history === existing.history) return false;
    this.#checks.set(uid, journalEntries(history, existing.recorded));
    return this.#put({ uid, attempt });
  }

  /** Events were recorded for these outages. */
  async recordEvents(uid: string, recorded: RecordedOutages): Promise<boolean> {
    const existing = this.#checks.get(uid);
    if (!existing) return false;
    this.#checks.set(uid, journalEntries(existing.history, recorded));
    return this.#put({ uid, recorded });
  }

  async forget(uid: string): Promise<boolean> {
    return this.#checks.delete(uid) && this.#put({ uid, forgotten: true });
  }

  /** Resolves when everything is on the disk; nothing is accepted afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#writing;
    await this.#file?.close();
    this.#file = undefined;
  }

  #put(record: JournalRecord): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    return new Promise((done) => {
      this.#waiting.push({ line: lineOf(record), done });
      this.#writing ??= this.#write();
    });
  }

  async #write(): Promise<void> {
    // Appends of the same tick are written together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#commit(Buffer.concat(batch.map(({ line }) => line)));
      for (const { done } of batch) done(this.#file !== undefined);
    }
    this.#writing = undefined;
  }

  async #commit(lines: Buffer): Promise<void> {
    if (!this.#file && performance.now() < this.#retryAt) return;
    try {
      if (!this.#isRead) await this.#read();
      // The state in memory includes these lines.
      if (!this.#file || this.#size + lines.length > Math.max(this.#rewriteAboveBytes, 3 * this.#compactSize)) await this.#rewrite();
      else await this.#extend(this.#file, lines);
    } catch (error) {
      await this.#giveUp(error);
    }
  }

  async #extend(file: FileHandle, lines: Buffer): Promise<void> {
    await writeAll(file, lines);
    await file.datasync();
    this.#size += lines.length;
  }

  async #recover(): Promise<void> {
    const { size, isWhole } = await this.#read();
    if (!isWhole) return this.#rewrite();
    this.#file = await open(this.#path, "a");
    this.#size = size;
    checkJournalUsable.set(1);
  }

  /** The state in memory is newer than the file's. */
  async #read(): Promise<{ size: number; isWhole: boolean }> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const content = await readIfThere(this.#path);
    const { checks, isWhole, problem } = replay(content);
    const isLate = this.#failures > 0 && checks.size > 0;
    this.#checks = new Map([...checks, ...this.#checks]);
    if (problem !== undefined) await this.#setAside(problem);
    else if (isLate) await this.#setAside("not readable at start");
    this.#isRead = true;
    return { size: content.length, isWhole };
  }

  /** One damaged file is kept; the next one replaces it. */
  async #setAside(problem: string): Promise<void> {
    const aside = `${this.#path}.set-aside`;
    await copyFile(this.#path, aside);
    this.#log.warn({ file: this.#path, problem, aside }, "check journal set aside; keeping the records that could be read");
  }

  /** Writes the state of all checks to a new file that replaces the old one. */
  async #rewrite(): Promise<void> {
    const path = `${this.#path}.new`;
    const file = await open(path, "w", 0o600);
    let size = 0;
    try {
      for (const chunk of chunksOf([...this.#checks])) {
        await writeAll(file, chunk);
        size += chunk.length;
      }
      await file.datasync();
      await rename(path, this.#path);
      await syncDirectory(this.#directory);
    } catch (error) {
      await file.close();
      await rm(path, { force: true });
      throw error;
    }
    const outdated = this.#file;
    this.#file = file;
    this.#size = size;
    this.#compactSize = size;
    await outdated?.close();
    if (this.#failures > 0) this.#log.info({ file: this.#path }, "check journal is writable again");
    this.#failures = 0;
    checkJournalUsable.set(1);
  }

  async #giveUp(why: unknown): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    this.#failures += 1;
    this.#retryAt = performance.now() + backoffMs(this.#failures, RETRY);
    checkJournalUsable.set(0);
    if (this.#failures === 1) {
      this.#log.warn(
        { file: this.#path, error: why },
        "cannot write the check journal; results not yet in the API are lost if this process ends",
      );
    }
    await file?.close().catch(() => undefined);
  }
}

async function readIfThere(path: string): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

function* chunksOf(checks: readonly (readonly [uid: string, check: JournalEntry])[]): Generator<Buffer> {
  let lines = [HEADER];
  let bytes = HEADER.length;
  for (const [uid, { history, recorded }] of checks) {
    const line = lineOf({ uid, history, recorded });
    lines.push(line);
    bytes += line.length;
    if (bytes < CHUNK_BYTES) continue;
    yield Buffer.concat(lines);
    [lines, bytes] = [[], 0];
  }
  yield Buffer.concat(lines);
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, written);
    written += bytesWritten;
  }
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path);
  await directory.sync();
}
