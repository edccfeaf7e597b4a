import { closeSync, fdatasyncSync, fsync, ftruncateSync, openSync, readFileSync, renameSync, rmSync, write, writeSync } from "node:fs";
import { getSystemErrorMessage, promisify } from "node:util";

const CHUNK = 256 * 1024;

const syncAll = promisify(fsync);
const writeChunk = promisify(write);

export function readIfThere(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw new Error(`Cannot read the state in ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

export function replaceWith(path: string, lines: readonly Buffer[]): void {
  const file = openSync(`${path}.new`, "w", 0o600);
  try {
    for (const line of lines) writeWhole(file, line);
    // Without this a power cut could leave a file of zeros under the name.
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
}

export function truncate(path: string, size: number): void {
  const file = openSync(path, "r+");
  ftruncateSync(file, size);
  closeSync(file);
}

/** write(2) may write a part of the line, and fail only on the next call. */
export function writeWhole(file: number, line: Buffer): void {
  for (let written = 0; written < line.length;) written += writeSync(file, line, written);
}

export function closeQuietly(file: number): void {
  try {
    closeSync(file);
  } catch {
    // It is not written any more.
  }
}

export function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The next rewrite truncates it.
  }
}

export async function writeAll(file: number, lines: readonly Buffer[]): Promise<number> {
  const bytes = Buffer.concat(lines);
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await writeChunk(file, bytes, written, Math.min(CHUNK, bytes.length - written));
    written += bytesWritten;
  }
  return bytes.length;
}

export async function syncDirectory(path: string): Promise<void> {
  const directory = openSync(path, "r");
  try {
    await syncAll(directory);
  } finally {
    closeSync(directory);
  }
}

export function reasonOf(error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  return errno === undefined ? message : getSystemErrorMessage(errno);
}
