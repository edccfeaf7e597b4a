import { spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { getSystemErrorMessage } from "node:util";

export type LockErrorCode = "Locked" | "NotWritable" | "NotOwn" | "NoFlock";

/** The directory cannot be had. */
export class LockError extends Error {
  override readonly name = "LockError";
  readonly code: LockErrorCode;
  /** Who has it, as far as they say. */
  readonly holder: LockHolder | undefined;

  constructor(code: LockErrorCode, message: string, options: { holder?: LockHolder | undefined; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.holder = options.holder;
  }
}

export interface LockHolder {
  readonly pid: number;
  /** When it was taken. */
  readonly since: string;
  readonly command: string;
}

export interface Lock {
  release(): void;
}

/** Someone may remove the file between our opening and our locking it. */
const ATTEMPTS = 5;

/**
 * Takes a lock that dies with this process, however it ends. Node has no flock of its own: flock(1) locks the open file that it inherits
 * from us, and the lock stays with that as long as we have it open. Throws a LockError.
 */
export function takeLock(path: string, command: string): Lock {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const file = openLockFile(path);
    try {
      lockFile(file, path);
      if (isAt(file, path)) {
        sign(file, { pid: process.pid, since: new Date().toISOString(), command });
        return { release: () => release(file) };
      }
    } catch (error) {
      closeSync(file);
      throw error;
    }
    closeSync(file);
  }
  throw new LockError("NotWritable", `${path} keeps being removed by another process`);
}

/** Who can write here can put an authority in, whose certificates `--listen` would trust. Throws a LockError. */
export function assertOwn(directory: string): void {
  const uid = process.getuid?.() ?? 0;
  // The link, where it is one, and what it leads to.
  for (const { uid: owner } of [lstatSync(directory), statSync(directory)]) {
    if (owner === uid) continue;
    throw new LockError(
      "NotOwn",
      `${directory} belongs to user ${owner} but plumbline runs as user ${uid}: run it as the owner, change the owner of the directory, or remove it`,
    );
  }
  const { mode } = statSync(directory);
  if ((mode & 0o077) === 0) return;
  const bits = (mode & 0o777).toString(8);
  throw new LockError(
    "NotOwn",
    `${directory} has mode ${bits}, so other users can access it: check its contents, then run: chmod 700 ${directory}`,
  );
}

function openLockFile(path: string): number {
  try {
    if (!existsSync(dirname(path))) mkdirSync(dirname(path), { mode: 0o700 });
    return openSync(path, "a+", 0o600);
  } catch (cause) {
    throw new LockError("NotWritable", `${path} cannot be written: ${reason(cause)}${ownership(path)}`, { cause });
  }
}

function lockFile(file: number, path: string): void {
  const { status, error, stderr } = spawnSync("flock", ["-n", "3"], { stdio: ["ignore", "ignore", "pipe", file], encoding: "utf8" });
  if (error) throw new LockError("NoFlock", `cannot run flock: ${reason(error)}; install util-linux`, { cause: error });
  if (status === 0) return;
  if (status !== 1 || stderr !== "")
    throw new LockError("NoFlock", `cannot lock ${path}: ${stderr.trim() || `flock exited with ${status}`}`);
  const holder = readHolder(path);
  throw new LockError("Locked", `${dirname(path)} is in use ${holder ? describe(holder) : "by another process"}; stop it first`, {
    holder,
  });
}

function describe({ pid, since, command }: LockHolder): string {
  return `by ${command} (process ${pid}) since ${since}`;
}

/** Whether what we have locked is still what everyone else would lock. */
function isAt(file: number, path: string): boolean {
  const ours = fstatSync(file);
  const there = statSync(path, { throwIfNoEntry: false });
  return there?.ino === ours.ino && there.dev === ours.dev;
}

function sign(file: number, holder: LockHolder): void {
  ftruncateSync(file);
  try {
    writeSync(file, `${JSON.stringify(holder)}\n`);
  } catch {
    // The disk is full: the lock holds all the same, only nobody can read whose it is.
  }
}

/**
 * The file stays: whoever removed it might remove the next one's. Closing alone is not enough: a child that another thread has just
 * forked has the file open until it runs its program, and the lock would stay with that.
 */
function release(file: number): void {
  ftruncateSync(file);
  // Without flock(1) closing still releases it, only a moment later.
  spawnSync("flock", ["-u", "3"], { stdio: ["ignore", "ignore", "ignore", file] });
  closeSync(file);
}

function readHolder(path: string): LockHolder | undefined {
  try {
    const { pid, since, command } = JSON.parse(readFileSync(path, "utf8")) as Partial<LockHolder>;
    return typeof pid === "number" && typeof since === "string" && typeof command === "string" ? { pid, since, command } : undefined;
  } catch {
    return undefined;
  }
}

/** Started once with sudo, a directory belongs to root ever after. */
function ownership(path: string): string {
  const directory = statSync(dirname(path), { throwIfNoEntry: false });
  const uid = process.getuid?.();
  if (!directory || uid === undefined || directory.uid === uid) return "";
  return `; ${dirname(path)} belongs to user ${directory.uid} but plumbline runs as user ${uid}: run it as the owner, or change the owner of the directory`;
}

function reason(error: unknown): string {
  const errno = error instanceof Error && "errno" in error && typeof error.errno === "number" ? error.errno : undefined;
  return errno === undefined ? String(error) : getSystemErrorMessage(errno);
}
