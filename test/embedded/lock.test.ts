import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LockError, takeLock, type LockHolder } from "../../src/embedded/lock.ts";

const NONE = 65534;

interface Holder {
  process: ChildProcess;
  /** The next line that it says. */
  says(): Promise<string>;
}

let directory: string;
let path: string;
let holders: ChildProcess[];
let children: number[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "plumbline-lock-"));
  path = join(directory, "state", "lock");
  holders = [];
  children = [];
});

afterEach(async () => {
  await Promise.all(holders.map(kill));
  for (const pid of children) process.kill(pid, "SIGKILL");
  rmSync(directory, { recursive: true });
});

function holder(options: { uid?: number; command?: string; path?: string; env?: Record<string, string> } = {}): Holder {
  const fixture = new URL("fixtures/lock-holder.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [fixture, options.path ?? path, options.command ?? "plumbline up"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...options.env },
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
  });
  holders.push(child);
  const lines: Interface = createInterface({ input: child.stdout });
  const reader = lines[Symbol.asyncIterator]();
  const says = async () => {
    const line = String((await reader.next()).value);
    const pid = /^held (\d+)$/.exec(line)?.[1];
    if (pid !== undefined) children.push(Number(pid));
    return line.replace(/^held .*/, "held");
  };
  return { process: child, says };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

/** The number under which this process has the file open. */
function descriptorOf(file: string): number {
  const found = readdirSync("/proc/self/fd").find((fd) => linkOf(`/proc/self/fd/${fd}`) === file);
  if (found === undefined) throw new Error(`${file} is not open`);
  return Number(found);
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    // The descriptor that read the directory is closed again.
    return undefined;
  }
}

function lockError(act: () => unknown): Pick<LockError, "code" | "message" | "holder"> {
  try {
    act();
  } catch (error) {
    if (error instanceof LockError) return { code: error.code, message: error.message, holder: error.holder };
    throw error;
  }
  throw new Error("it was not refused");
}

describe("a held lock", () => {
  test("is denied to other processes, with the pid, command and start time of the holder", async () => {
    const first = holder({ command: "plumbline up --dir /etc/site" });
    expect(await first.says()).toBe("held");
    const written = JSON.parse(readFileSync(path, "utf8")) as LockHolder;
    expect(written).toMatchObject({ pid: first.process.pid, command: "plumbline up --dir /etc/site" });
    expect(Date.now() - Date.parse(written.since)).toBeLessThan(60_000);
    const expected = {
      code: "Locked",
      message: `${join(directory, "state")} is in use by plumbline up --dir /etc/site (process ${first.process.pid}) since ${written.since}; stop it first`,
      holder: written,
    };
    expect(lockError(() => takeLock(path, "plumbline up"))).toEqual(expected);
    expect(JSON.parse(await holder().says())).toEqual(expected);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(written);
  });

  test("is denied to the same process too, until it is released", () => {
    const lock = takeLock(path, "one");
    expect(lockError(() => takeLock(path, "two"))).toMatchObject({ code: "Locked", holder: { pid: process.pid, command: "one" } });
    lock.release();
    expect(readFileSync(path, "utf8")).toBe("");
    takeLock(path, "three").release();
  });

  test("is free as soon as its holder is killed, whatever children it has", async () => {
    for (let round = 0; round < 5; round += 1) {
      const dying = holder();
      expect(await dying.says()).toBe("held");
      await kill(dying.process);
      expect(readFileSync(path, "utf8")).toContain(`"pid":${dying.process.pid}`);
    }
    takeLock(path, "next").release();
  });

  test("is free again when it is released", async () => {
    const first = holder();
    expect(await first.says()).toBe("held");
    first.process.stdin?.write("release\n");
    expect(await first.says()).toBe("released");
    takeLock(path, "next").release();
  });

  test("is free once released, although a child that another thread forked still has the file open", () => {
    const lock = takeLock(path, "one");
    // Between fork and exec a child has every file of the process open, close-on-exec or not. This one stays there.
    const child = spawn("sleep", ["60"], { stdio: ["ignore", "ignore", "ignore", descriptorOf(path)] });
    holders.push(child);
    lock.release();
    takeLock(path, "two").release();
    expect(child.exitCode).toBe(null);
  });

  test("goes to one of many processes that want it at once", async () => {
    const many = Array.from({ length: 8 }, () => holder());
    const answers = await Promise.all(many.map((one) => one.says()));
    expect(answers.filter((answer) => answer === "held")).toHaveLength(1);
    expect(answers.filter((answer) => answer.includes('"code":"Locked"'))).toHaveLength(7);
  });

  test("is held even when its holder has not written its name", async () => {
    const first = holder();
    expect(await first.says()).toBe("held");
    writeFileSync(path, "garbage");
    expect(lockError(() => takeLock(path, "two"))).toEqual({
      code: "Locked",
      message: `${join(directory, "state")} is in use by another process; stop it first`,
      holder: undefined,
    });
  });
});

describe("a lock that cannot be taken", () => {
  test("because the directory is not writable has an error that says so", () => {
    expect(lockError(() => takeLock("/proc/self/lock", "one"))).toEqual({
      code: "NotWritable",
      message: "/proc/self/lock cannot be written: no such file or directory",
      holder: undefined,
    });
    expect(lockError(() => takeLock(join(directory, "no/such/lock"), "one")).message).toMatch(
      /cannot be written: no such file or directory$/,
    );
    writeFileSync(join(directory, "state"), "");
    expect(lockError(() => takeLock(path, "one")).message).toBe(`${path} cannot be written: not a directory`);
  });

  test("because it belongs to another user names that user", async () => {
    const isRoot = process.getuid?.() === 0;
    const foreign = isRoot ? path : "/usr/lock";
    const user = isRoot ? NONE : process.getuid?.();
    if (isRoot) {
      chmodSync(directory, 0o755);
      mkdirSync(join(directory, "state"), { mode: 0o700 });
    }
    const answer = JSON.parse(await holder({ path: foreign, ...(isRoot && { uid: NONE }) }).says()) as { code: string; message: string };
    expect(answer.code).toBe("NotWritable");
    expect(answer.message).toBe(
      `${foreign} cannot be written: permission denied; ${dirname(foreign)} belongs to user 0 but plumbline runs as user ${user}: run it as the owner, or change the owner of the directory`,
    );
  });

  test("because flock is missing has an error with the package to install", async () => {
    const answer = JSON.parse(await holder({ env: { PATH: "/nowhere" } }).says()) as { code: string; message: string };
    expect(answer).toEqual({ code: "NoFlock", message: "cannot run flock: no such file or directory; install util-linux" });
  });
});
