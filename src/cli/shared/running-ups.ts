import { lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, type NetConnectOpts } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

export interface RunningInstance {
  readonly pid: number;
  readonly directory: string;
  readonly endpoint: { readonly socket: string } | { readonly url: string; readonly kubeconfig: string };
}

function recordDirectory(): string {
  return join(process.env["XDG_RUNTIME_DIR"] || tmpdir(), `plumbline-up-${process.getuid?.() ?? 0}`);
}

export async function runningInstances(): Promise<RunningInstance[]> {
  const directory = recordDirectory();
  if (!isOurs(directory)) return [];
  const found = await Promise.all(recordsIn(directory).map(readRecord));
  return found.filter((up) => up !== undefined).sort((a, b) => (a.directory < b.directory ? -1 : 1));
}

/** Removes the records of killed processes. Returns their directory, if any was removed. */
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

/** Lets other commands find this process. Returns a function that removes the record. */
export function recordUp(up: Omit<RunningInstance, "pid">): () => void {
  const directory = recordDirectory();
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // The directory belongs to another user, who could read and change the record. --dir still finds this process.
  if (!isOurs(directory)) return () => undefined;
  // Only one process serves a directory: other records of this endpoint belong to killed ones.
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
    // Other processes of this user still have records.
  }
}

/** In /tmp anyone can create a directory of this name first. */
function isOurs(directory: string): boolean {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

async function readRecord(file: string): Promise<RunningInstance | undefined> {
  const up = parse(file);
  if (up && (await answers(up.endpoint))) return up;
  // Left by a killed process.
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
