import { crc32 } from "node:zlib";

export interface CheckedLine {
  readonly number: number;
  readonly bytes: Buffer;
  /** Undefined if the checksum does not match. */
  readonly record: unknown;
  /** Whether zeros precede it, as a power cut leaves them in place of lines. */
  readonly hadZeros: boolean;
}

/** A record as a line: checksum, JSON, line feed. */
export function checked(json: Buffer | string): Buffer {
  if (typeof json === "string") return Buffer.from(`${checksum(json)} ${json}\n`);
  return Buffer.concat([Buffer.from(`${checksum(json)} `), json, Buffer.of(10)]);
}

/** Every line with a line feed. What follows the last one was cut short while it was written. */
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

/** The first record of a file: its format. */
export function isHeader(record: unknown): record is { format: unknown } {
  return typeof record === "object" && record !== null && "format" in record;
}

/** The length without an incomplete last line. */
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
