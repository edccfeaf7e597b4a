import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type Stats,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { FILE_BYTES } from "../manifests/limits.ts";

export interface FileStat {
  /** Changes if the content may have changed. */
  readonly fingerprint: string;
  /** Device and inode. */
  readonly identity: string;
  readonly modified: number;
}

export interface Unreadable {
  readonly unreadable: string;
}

const MANIFEST_NAME = /^[^.~#].*\.(?:ya?ml|json)$/;

/** Editors prefix the names of their temporary files with dots, tildes and hashes. */
export function isManifestName(name: string): boolean {
  return MANIFEST_NAME.test(name);
}

export function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function fileStat(stats: Stats): FileStat {
  const identity = identityOf(stats);
  return { identity, fingerprint: `${identity}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`, modified: stats.mtimeMs };
}

export function statFile(path: string): FileStat | Unreadable | "missing" | "directory" {
  try {
    const stats = statSync(path);
    if (stats.isDirectory()) return "directory";
    return stats.isFile() ? fileStat(stats) : { unreadable: "is neither a file nor a directory" };
  } catch (error) {
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "ENOTDIR") return { unreadable: reasonOf(error) };
    return isLink(path) ? { unreadable: "is a dangling symlink" } : "missing";
  }
}

export function directoryIdentity(path: string): string | undefined {
  try {
    const stats = statSync(path);
    return stats.isDirectory() ? identityOf(stats) : undefined;
  } catch {
    return undefined;
  }
}

export function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** Undefined while the file is being written. */
export function readFile(path: string): { readonly bytes: Buffer; readonly stat: FileStat } | Unreadable | undefined {
  let file: number | undefined;
  try {
    // Without O_NONBLOCK, opening a pipe waits for a writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const before = fstatSync(file);
    if (!before.isFile()) return { unreadable: "is neither a file nor a directory" };
    if (before.size > FILE_BYTES) return { unreadable: `has ${before.size} bytes, the limit is ${FILE_BYTES}; split the file` };
    const bytes = Buffer.allocUnsafe(before.size + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length <= before.size; length += read)
      read = readSync(file, bytes, length, bytes.length - length, length);
    const after = fileStat(fstatSync(file));
    if (length !== before.size || after.fingerprint !== fileStat(before).fingerprint) return undefined;
    return { bytes: bytes.subarray(0, length), stat: after };
  } catch (error) {
    return codeOf(error) === "ENOENT" ? undefined : { unreadable: reasonOf(error) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Atomically, and readable by its owner only, since it may contain a Secret. */
export function writeFile(path: string, bytes: Buffer): FileStat {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const unfinished = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  try {
    const file = openSync(unfinished, "w", 0o600);
    try {
      writeFileSync(file, bytes);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(unfinished, path);
    return fileStat(statSync(path));
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/** Whether its own mode and that of each directory above allow it. */
export function isReadableByAll(path: string): boolean {
  try {
    const real = realpathSync(path);
    if ((statSync(real).mode & constants.S_IROTH) === 0) return false;
    for (let above = dirname(real); ; above = dirname(above)) {
      if ((statSync(above).mode & constants.S_IXOTH) === 0) return false;
      if (above === dirname(above)) return true;
    }
  } catch {
    return false;
  }
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** `cannot be read: permission denied` */
export function reasonOf(error: unknown): string {
  return codeOf(error) === "ELOOP" ? "is a symlink loop" : `cannot be read: ${systemReason(error)}`;
}

/** `no space left on device` */
export function systemReason(error: unknown): string {
  const errno = error instanceof Error && "errno" in error && typeof error.errno === "number" ? error.errno : undefined;
  return errno === undefined ? String(error) : getSystemErrorMessage(errno);
}
