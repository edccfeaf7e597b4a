import { manifestReads } from "./metrics.ts";
import type { ManifestIndex, FoundObject } from "./manifest-index.ts";
import { manifestDocuments, type ManifestObject, type Document } from "../manifests/manifests.ts";
import { positionOf } from "../manifests/position.ts";
import type { Problem } from "./problems.ts";
import { statFile, readFile, type FileStat } from "./file-stat.ts";
import { DEBOUNCE_MS } from "./debounce.ts";
import type { ManifestError, ObjectIdentity, ManifestTarget } from "./target.ts";

/** How long something that a file no longer has is left where it is: it may be in another file in a moment, or in this one again. */
export const LEAVE_MS = 1_000;
/** A shell empties a file before the program that fills it has even started. */
const LEAVE_EMPTY_MS = 5_000;
/** How long a file that looks half written must stay as it is to be taken at its word. */
const DOUBT_MS = 250;
/** Two writes within this time may leave the same time stamp. */
const CLOCK_TICK_MS = 15;

interface KnownFile {
  /** Empty when the file must be read again in any case. */
  readonly fingerprint: string;
  readonly bytes: number;
  readonly passages: readonly Document[];
  readonly problems: readonly Problem[];
}

interface Doubt {
  readonly fingerprint: string;
  readonly until: number;
  readonly bytes: number;
  readonly passages: readonly Document[];
}

export interface ScanOptions {
  readonly now: number;
  /** Nothing has been read yet: there is nothing to compare with, and no save that we could have come into the middle of. */
  readonly loading: boolean;
}

/** Reads files into the catalog, each when it is another one than before, and only the parts that are. */
export class ManifestReader {
  readonly #root: string;
  readonly #index: ManifestIndex;
  readonly #sink: ManifestTarget;
  readonly #known = new Map<string, KnownFile>();
  readonly #doubts = new Map<string, Doubt>();
  readonly #identities = new WeakMap<ManifestObject, ObjectIdentity | ManifestError>();

  constructor(root: string, index: ManifestIndex, sink: ManifestTarget) {
    this.#root = root;
    this.#index = index;
    this.#sink = sink;
  }

  paths(): Iterable<string> {
    return this.#known.keys();
  }

  isKnown(path: string): boolean {
    return this.#known.has(path);
  }

  /** Whether the file is as it was when it was last read. */
  isRead(path: string, { fingerprint }: FileStat): boolean {
    return this.#known.get(path)?.fingerprint === fingerprint;
  }

  problemsOf(path: string): readonly Problem[] {
    return this.#known.get(path)?.problems ?? [];
  }

  /** Looks at one path. Gives the time after which it must be looked at once more, if it must. */
  *readPath(path: string, { now, loading }: ScanOptions): Generator<void, number | undefined> {
    const stat = statFile(`${this.#root}/${path}`);
    if (typeof stat === "object" && "fingerprint" in stat) return yield* this.#readFile(path, stat, now, loading);
    if (typeof stat === "object") this.#unreadable(path, stat.unreadable);
    else this.gone(path, loading ? now : now + LEAVE_MS);
    return undefined;
  }

  *#readFile(path: string, stat: FileStat, now: number, loading: boolean): Generator<void, number | undefined> {
    const doubt = this.#doubts.get(path);
    if (this.isRead(path, stat)) this.#doubts.delete(path);
    else if (doubt?.fingerprint !== stat.fingerprint) return yield* this.#read(path, now, loading);
    else if (now < doubt.until) return doubt.until - now;
    else this.#accept(path, stat, doubt.bytes, doubt.passages, now + LEAVE_MS);
    return undefined;
  }

  *#read(path: string, now: number, loading: boolean): Generator<void, number | undefined> {
    const file = readFile(`${this.#root}/${path}`);
    if (!file) return DEBOUNCE_MS;
    if ("unreadable" in file) {
      this.#unreadable(path, file.unreadable);
      return undefined;
    }
    const { bytes, stat } = file;
    const before = this.#known.get(path);
    const passages: Document[] = [];
    for (const passage of manifestDocuments(bytes, { json: path.endsWith(".json"), before: before?.passages ?? [] })) {
      passages.push(passage);
      yield;
    }
    // Someone has written it through us while we were reading.
    if (this.#known.get(path) !== before) return DEBOUNCE_MS;

    if (!loading && isDoubtful(path, bytes, passages, before)) {
      manifestReads.inc({ outcome: "doubtful" });
      this.#doubts.set(path, { fingerprint: stat.fingerprint, until: now + DOUBT_MS, bytes: bytes.length, passages });
      return DOUBT_MS;
    }
    const leaveMs = bytes.length === 0 ? LEAVE_EMPTY_MS : LEAVE_MS;
    const isOld = loading && Date.now() - stat.modified > leaveMs;
    this.#accept(path, stat, bytes.length, passages, isOld ? now : now + leaveMs);
    return this.isRead(path, stat) ? undefined : DEBOUNCE_MS;
  }

  /** The file is no longer there. */
  gone(path: string, leavesAt: number): void {
    this.#known.delete(path);
    this.#doubts.delete(path);
    this.#index.read(path, [], leavesAt);
  }

  /** We have written the file ourselves. */
  wrote(path: string, stat: FileStat, bytes: Buffer): void {
    const passages = [...manifestDocuments(bytes, { json: path.endsWith(".json") })];
    this.#accept(path, stat, bytes.length, passages, 0);
  }

  /** We have removed the file ourselves. */
  erased(path: string): void {
    this.#known.delete(path);
    this.#doubts.delete(path);
    this.#index.forget(path);
  }

  #identify(manifest: ManifestObject): ObjectIdentity | ManifestError {
    let identity = this.#identities.get(manifest);
    if (!identity) this.#identities.set(manifest, (identity = this.#sink.identify(manifest.object)));
    return identity;
  }

  #unreadable(path: string, why: string): void {
    manifestReads.inc({ outcome: "unreadable" });
    this.#doubts.delete(path);
    const problems: Problem[] = [{ path, level: "error", message: `${why}; keeping its last known objects` }];
    const { bytes = 0, passages = [] } = this.#known.get(path) ?? {};
    this.#known.set(path, { fingerprint: "", bytes, passages, problems });
    this.#index.readInPart(path, []);
  }

  #accept(path: string, stat: FileStat, bytes: number, passages: readonly Document[], leavesAt: number): void {
    manifestReads.inc({ outcome: "read" });
    this.#doubts.delete(path);
    const found: FoundObject[] = [];
    const problems: Problem[] = [];
    for (const { line, manifests, flaws } of passages) {
      for (const parseError of flaws)
        problems.push({
          path,
          line: line + parseError.line + 1,
          column: parseError.column + 1,
          level: "error",
          message: parseError.message,
        });
      for (const manifest of manifests) {
        const identity = this.#identify(manifest);
        if ("key" in identity) {
          found.push({ key: identity.key, manifest, line });
          continue;
        }
        const position = positionOf(manifest.object, manifest.positions, identity.field ?? "");
        const { level, message } = identity;
        problems.push({ path, line: line + position.line + 1, column: position.column + 1, level, message, object: manifest.object });
      }
    }
    const sure = Math.abs(Date.now() - stat.modified) > CLOCK_TICK_MS;
    this.#known.set(path, { fingerprint: sure ? stat.fingerprint : "", bytes, passages, problems });
    if (problems.length > 0) this.#index.readInPart(path, found);
    else this.#index.read(path, found, leavesAt);
  }
}

/**
 * Whether it looks as if someone was not done writing. Half a file is whole up to its last passage, and what is missing after that is
 * given time anyway; so only a last passage that is new can deceive.
 */
function isDoubtful(path: string, bytes: Buffer, passages: readonly Document[], before: KnownFile | undefined): boolean {
  const last = passages.at(-1);
  if (!last || before?.passages.some(({ digest }) => digest === last.digest)) return false;
  const wasWrong = before !== undefined && before.problems.length > 0;
  const isWrong = last.flaws.length > 0 && !wasWrong;
  // Half of a JSON text is never right.
  if (path.endsWith(".json")) return isWrong;
  return isWrong || bytes.at(-1) !== 10 || (before !== undefined && bytes.length < before.bytes);
}
