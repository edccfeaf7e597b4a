import { manifestReads } from "./metrics.ts";
import type { ManifestIndex, FoundObject } from "./manifest-index.ts";
import { manifestDocuments, type ManifestObject, type Document } from "../manifests/manifests.ts";
import { positionOf } from "../manifests/position.ts";
import type { Problem } from "./problems.ts";
import { statFile, readFile, type FileStat } from "./file-stat.ts";
import { DEBOUNCE_MS } from "./debounce.ts";
import type { ManifestError, ObjectIdentity, ManifestTarget } from "./target.ts";

/** How long an object stays after its file lost it: it may reappear in this file or another one. */
export const LEAVE_MS = 1_000;
/** A shell truncates a file before the program that fills it starts. */
const LEAVE_EMPTY_MS = 5_000;
/** How long a file that looks half written must stay unchanged before it is used. */
const DOUBT_MS = 250;
/** Two writes within this time may have the same time stamp. */
const CLOCK_TICK_MS = 15;

interface KnownFile {
  /** Empty if the file must be read again in any case. */
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
  /** During the first read there is nothing to compare with. */
  readonly loading: boolean;
}

/** Reads changed files into the index, and of these only the changed documents. */
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

  /** Whether the file is unchanged since it was last read. */
  isRead(path: string, { fingerprint }: FileStat): boolean {
    return this.#known.get(path)?.fingerprint === fingerprint;
  }

  problemsOf(path: string): readonly Problem[] {
    return this.#known.get(path)?.problems ?? [];
  }

  /** Returns when the path must be read again, if at all. */
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
    // The API wrote the file during the read.
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

  gone(path: string, leavesAt: number): void {
    this.#known.delete(path);
    this.#doubts.delete(path);
    this.#index.read(path, [], leavesAt);
  }

  wrote(path: string, stat: FileStat, bytes: Buffer): void {
    const passages = [...manifestDocuments(bytes, { json: path.endsWith(".json") })];
    this.#accept(path, stat, bytes.length, passages, 0);
  }

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
 * Whether the file looks half written. Its documents are complete except for the last one, and missing ones leave with a delay; so only a
 * new last document is in doubt.
 */
function isDoubtful(path: string, bytes: Buffer, passages: readonly Document[], before: KnownFile | undefined): boolean {
  const last = passages.at(-1);
  if (!last || before?.passages.some(({ digest }) => digest === last.digest)) return false;
  const wasWrong = before !== undefined && before.problems.length > 0;
  const isWrong = last.flaws.length > 0 && !wasWrong;
  if (path.endsWith(".json")) return isWrong;
  return isWrong || bytes.at(-1) !== 10 || (before !== undefined && bytes.length < before.bytes);
}
