import { crc32 } from "node:zlib";

/** One line of a file that is read back. */
export interface CheckedLine {
  /** From 1. */
  readonly number: number;
  /** Without its line feed. */
  readonly bytes: Buffer;
  /** undefined when the line is not what was written. */
  readonly record: unknown;
  /** Zeros stood before it, as a power cut leaves them where other lines were. */
  readonly hadZeros: boolean;
}

/** A record as a line: its checksum, its JSON, a line feed. */
export function checked(json: Buffer | string): Buffer {
  if (typeof json === "string") return Buffer.from(`${checksum(json)} ${json}\n`);
  return Buffer.concat([Buffer.from(`${checksum(json)} `), json, Buffer.of(10)]);
}

/** Every line that has its line feed. What comes after the last one was cut short while it was written, and is not among them. */
export function* checkedLines(content: Buffer): Generator<CheckedLine> {
  let start = 0;
  for (let number = 1; ; number++) {
    const end = content.indexOf(10, start);
    if (end < 0) return;
    const line = content.subarray(start, end);
    const afterZeros = line.subarray(line.lastIndexOf(0) + 1);
    const record = recordIn(afterZeros);
    const hadZeros = afterZeros.length < line.length;
    yield { number, bytes: record === undefined ? line : afterZeros, record, hadZeros };
    start = end + 1;
  }
}

/** Up to where a file is whole. */
export function completeBytes(content: Buffer): number {
  return content.lastIndexOf(10) + 1;
}

function recordIn(line: Buffer): unknown {
  const record = line.subarray(9);
  if (line.toString("latin1", 0, 9) !== `${checksum(record)} `) return undefined;
  try {
    return JSON.parse(record.toString("utf8"));
  } catch {
    return undefined;
  }
}

function checksum(record: Buffer | string): string {
  return crc32(record).toString(16).padStart(8, "0");
}
