import { lstat, mkdir, readdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A `plumbline up` of this user. */
export interface RunningUp {
  readonly pid: number;
  readonly directory: string;
  readonly socket: string;
}

function recordDirectory(): string {
  return join(process.env["XDG_RUNTIME_DIR"] || tmpdir(), `plumbline-up-${process.getuid?.() ?? 0}`);
}

/** Those that answer. */
export async function runningUps(): Promise<RunningUp[]> {
  const directory = recordDirectory();
  if (!(await isOurs(directory))) return [];
  const files = (await readdir(directory)).filter((name) => name.endsWith(".json"));
  const found = await Promise.all(files.map((file) => readRecord(join(directory, file))));
  return found.filter((up) => up !== undefined).sort((a, b) => (a.directory < b.directory ? -1 : 1));
}

/** Lets other commands find this process; returns what takes the record away. */
export async function recordUp(up: Omit<RunningUp, "pid">): Promise<() => Promise<void>> {
  const directory = recordDirectory();
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // Someone else's directory: others could read where we are, and we would believe what they write. --dir still finds us.
  if (!(await isOurs(directory))) return () => Promise.resolve();
  const file = join(directory, `${process.pid}.json`);
  await writeFile(file, JSON.stringify({ pid: process.pid, ...up }), { mode: 0o600 });
  return async () => {
    await rm(file, { force: true });
    // Others of this user may still be there.
    await rmdir(directory).catch(() => undefined);
  };
}

/** In /tmp anyone can be first to make a directory of this name. */
async function isOurs(directory: string): Promise<boolean> {
  const found = await lstat(directory).catch(() => undefined);
  return found !== undefined && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

async function readRecord(file: string): Promise<RunningUp | undefined> {
  const up = await readFile(file, "utf8")
    .then((text) => JSON.parse(text) as RunningUp)
    .catch(() => undefined);
  if (up && (await answers(up.socket))) return up;
  // Left by one that was killed.
  await rm(file, { force: true });
  return undefined;
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket, () => resolve(true)).once("error", () => resolve(false));
    connection.once("connect", () => connection.destroy());
  });
}
