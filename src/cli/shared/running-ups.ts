import { lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, type NetConnectOpts } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

/** A `plumbline up` or a lab of this user. */
export interface RunningInstance {
  readonly pid: number;
  readonly directory: string;
  readonly endpoint: { readonly socket: string } | { readonly url: string; readonly kubeconfig: string };
}

function recordDirectory(): string {
  return join(process.env["XDG_RUNTIME_DIR"] || tmpdir(), `plumbline-up-${process.getuid?.() ?? 0}`);
}

/** Those that answer. */
export async function runningInstances(): Promise<RunningInstance[]> {
  const directory = recordDirectory();
  if (!isOurs(directory)) return [];
  const found = await Promise.all(recordsIn(directory).map(readRecord));
  return found.filter((up) => up !== undefined).sort((a, b) => (a.directory < b.directory ? -1 : 1));
}

/** Removes the records of those that were killed. Returns where they were, where any was removed. */
export async function removeStaleUps(): Promise<string | undefined> {
  const directory = recordDirectory();
  if (!isOurs(directory)) return undefined;
  const before = recordsIn(directory).length;
  const running = await runningInstances();
  removeIfEmpty(directory);
  return running.length < before ? directory : undefined;
}

function recordsIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(".json"))
    .map((name) => join(directory, name));
}

/** Lets other commands find this process; returns what takes the record away. */
export function recordUp(up: Omit<RunningInstance, "pid">): () => void {
  const directory = recordDirectory();
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // Someone else's directory: others could read where we are, and we would believe what they write. --dir still finds us.
  if (!isOurs(directory)) return () => undefined;
  // Only one may serve a directory: whoever else claims this endpoint was killed, and would seem to answer where we do.
  for (const file of recordsIn(directory)) if (isDeepStrictEqual(parse(file)?.endpoint, up.endpoint)) rmSync(file, { force: true });
  const file = join(directory, `${process.pid}.json`);
  writeFileSync(file, JSON.stringify({ pid: process.pid, ...up }), { mode: 0o600 });
  return () => {
    rmSync(file, { force: true });
    removeIfEmpty(directory);
  };
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Others of this user are still there.
  }
}

/** In /tmp anyone can be first to make a directory of this name. */
function isOurs(directory: string): boolean {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

async function readRecord(file: string): Promise<RunningInstance | undefined> {
  const up = parse(file);
  if (up && (await answers(up.endpoint))) return up;
  // Left by one that was killed.
  rmSync(file, { force: true });
  return undefined;
}

function parse(file: string): RunningInstance | undefined {
  try {
    const up = JSON.parse(readFileSync(file, "utf8")) as Partial<RunningInstance>;
    return up.endpoint && (up as RunningInstance);
  } catch {
    return undefined;
  }
}

function answers(endpoint: RunningInstance["endpoint"]): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(addressOf(endpoint), () => {
      connection.destroy();
      resolve(true);
    });
    connection.once("error", () => resolve(false));
  });
}

function addressOf(endpoint: RunningInstance["endpoint"]): NetConnectOpts {
  if ("socket" in endpoint) return { path: endpoint.socket };
  const { hostname, port } = new URL(endpoint.url);
  return { host: hostname, port: Number(port) };
}
