import { keyOf } from "../../api/kind.ts";
import { checkedLines, completeBytes, isHeader } from "../../resilience/checksummed-lines.ts";
import type { StoredObject } from "../kinds/served-kind.ts";
import type { Declaration } from "./declaration.ts";
import { FORMAT, guessSubject, HEADER, type StateRecord } from "./record.ts";

export interface LostRecord {
  readonly line: number;
  /** The object that it seems to be about, or `unknown`. */
  readonly subject: string;
}

export interface RecoveredObject {
  readonly resource: string;
  readonly revision: number;
  readonly object: StoredObject;
  readonly declaration?: Declaration;
  readonly bytes: number;
}

export interface Recovered {
  readonly revision: number;
  readonly objects: ReadonlyMap<string, RecoveredObject>;
  readonly lost: readonly LostRecord[];
  /** The length without an incomplete last line. */
  readonly wholeBytes: number;
}

/** The file was written by another version of Plumbline. */
export class ForeignState extends Error {}

/**
 * Reads a state file. A last line without a line feed was being written when the process was killed, and is dropped: it was never visible.
 * Any other invalid line is damage: it is lost, and reported. So are zeros, which a power cut leaves, and a file without any line, unless
 * it is the beginning of a header.
 */
export function recover(content: Buffer): Recovered {
  const objects = new Map<string, RecoveredObject>();
  const lost: LostRecord[] = [];
  let revision = 0;
  let lines = 0;
  for (const { number, bytes, record, hadZeros } of checkedLines(content)) {
    lines = number;
    if (hadZeros && record !== undefined) lost.push({ line: number, subject: "unknown" });
    if (isHeader(record)) checkFormat(record);
    else if (isRecord(record)) {
      revision = Math.max(revision, record.revision);
      apply(objects, record, bytes.length);
    } else lost.push({ line: number, subject: guessSubject(bytes) });
  }
  const whole = completeBytes(content);
  const rest = content.subarray(whole);
  const isTorn = whole > 0 ? !rest.includes(0) : HEADER.subarray(0, rest.length).equals(rest);
  if (!isTorn) lost.push({ line: lines + 1, subject: guessSubject(rest) });
  return { revision, objects, lost, wholeBytes: whole };
}

function checkFormat({ format }: { format: unknown }): void {
  if (format !== FORMAT) {
    throw new ForeignState(`unknown format ${JSON.stringify(format)}`);
  }
}

function isRecord(record: unknown): record is StateRecord {
  return typeof record === "object" && record !== null && "revision" in record && "resource" in record && "key" in record;
}

function apply(objects: Map<string, RecoveredObject>, record: StateRecord, bytes: number): void {
  const { resource, key, revision, object, declaration } = record;
  const id = `${resource}/${key}`;
  const before = objects.get(id);
  // An object that was created again comes after older ones.
  objects.delete(id);
  if (!object) return;
  const declared = declaration === undefined ? before?.declaration : (declaration ?? undefined);
  objects.set(`${resource}/${keyOf(object)}`, { resource, revision, object, bytes, ...(declared && { declaration: declared }) });
}
