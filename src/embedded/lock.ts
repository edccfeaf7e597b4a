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
import { systemReason } from "./directory/file-stat.ts";

export type LockErrorCode = "Locked" | "NotWritable" | "NotOwn" | "NoFlock";

export class LockError extends Error {
  override readonly name = "LockError";
  readonly code: LockErrorCode;
  /** The content of the lock file, if it could be read. */
  readonly holder: LockHolder | undefined;

  constructor(code: LockErrorCode, message: string, options: { holder?: LockHolder | undefined; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.holder = options.holder;
  }
}

export interface LockHolder {
  readonly pid: number;
  readonly since: string;
  readonly command: string;
}

export interface Lock {
  release(): void;
}

/** Another process may remove the file between open and lock. */
const ATTEMPTS = 5;

/**
 * Takes a lock that ends with this process. Node has no flock: flock(1) locks the open file that it inherits, and the lock lasts as long as
 * this process keeps it open. Throws a LockError.
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

/** Another user who can write here could add a CA that `--listen` would trust. Throws a LockError. */
export function assertOwn(directory: string): void {
  const uid = process.getuid?.() ?? 0;
  // The link itself, and its target.
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
    throw new LockError("NotWritable", `${path} cannot be written: ${systemReason(cause)}${ownership(path)}`, { cause });
  }
}

function lockFile(file: number, path: string): void {
  const { status, error, stderr } = spawnSync("flock", ["-n", "3"], { stdio: ["ignore", "ignore", "pipe", file], encoding: "utf8" });
  if (error) throw new LockError("NoFlock", `cannot run flock: ${systemReason(error)}; install util-linux`, { cause: error });
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

/** Whether the locked file is still the one at the path. */
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
    // The disk is full: the lock is valid, but the file does not name its holder.
  }
}

/**
 * The file is not removed: that could remove the next holder's. It is unlocked explicitly: a child that another thread has just forked
 * keeps the file open until it runs its program.
 */
function release(file: number): void {
  ftruncateSync(file);
  // Without flock(1), closing releases the lock a moment later.
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

/** After one start with sudo, the directory belongs to root. */
function ownership(path: string): string {
  const directory = statSync(dirname(path), { throwIfNoEntry: false });
  const uid = process.getuid?.();
  if (!directory || uid === undefined || directory.uid === uid) return "";
  return `; ${dirname(path)} belongs to user ${directory.uid} but plumbline runs as user ${uid}: run it as the owner, or change the owner of the directory`;
}
