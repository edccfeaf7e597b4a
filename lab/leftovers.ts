import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Background } from "./background.ts";
import { HOLDER_ID, HOLDER_VARIABLE, isGone, startTime } from "./holder.ts";

/** Where labs have their directories: in memory where the machine has such a place. */
export const MEMORY_ROOT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const ENDED_WITHIN_MS = 10_000;
const DIRECTORY = new RegExp(`^plumbline-[a-z]+-(${HOLDER_ID})-\\w{6}$`);
const LINK_ALIAS = new RegExp(`^plumbline lab (${HOLDER_ID})$`);
const VARIABLE = new RegExp(`(?:^|\\0)${HOLDER_VARIABLE}=(${HOLDER_ID})(?:\\0|$)`);

/**
 * Removes what labs left whose holder was killed: its processes, its link, its directory, its record. All of them name their holder, so that nothing of a
 * lab that still runs is touched. Returns a line that says what was removed; undefined: nothing was left.
 */
export async function removeLeftovers(records: readonly Pick<Background<object>, "removeStale">[] = []): Promise<string | undefined> {
  const processes = await endProcesses();
  const removed = [
    ...(processes === 0 ? [] : [processes === 1 ? "1 process" : `${processes} processes`]),
    ...(await removeLinks()),
    ...(await removeDirectories()),
    ...(await Promise.all(records.map((record) => record.removeStale()))).flatMap((path) => path ?? []),
  ];
  return removed.length === 0 ? undefined : `Removed leftovers of labs that no longer run: ${removed.join(", ")}`;
}

/** They die with their holder, except one that it started in its last moment. */
async function endProcesses(): Promise<number> {
  const left = (await readdir("/proc"))
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .flatMap((pid) => {
      const since = startTime(pid);
      return since !== undefined && belongsToGoneHolder(pid) ? [{ pid, since }] : [];
    });
  const running = () => left.filter(({ pid, since }) => startTime(pid) === since);
  for (const { pid } of running()) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has just ended, or is another user's.
    }
  }
  const deadline = performance.now() + ENDED_WITHIN_MS;
  while (running().length > 0 && performance.now() < deadline) await sleep(20);
  return left.length - running().length;
}

function belongsToGoneHolder(pid: number): boolean {
  try {
    const id = VARIABLE.exec(readFileSync(`/proc/${pid}/environ`, "utf8"))?.[1];
    return id !== undefined && isGone(id);
  } catch {
    return false;
  }
}

async function removeLinks(): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const { stdout } = await promisify(execFile)("ip", ["-j", "link"]).catch(() => ({ stdout: "[]" }));
  const links = JSON.parse(stdout) as readonly { readonly ifname: string; readonly ifalias?: string }[];
  const removed: string[] = [];
  for (const { ifname, ifalias = "" } of links) {
    const id = LINK_ALIAS.exec(ifalias)?.[1];
    if (id === undefined || !isGone(id)) continue;
    // One whose namespace is just ending goes by itself.
    const isRemoved = await promisify(execFile)("ip", ["link", "del", ifname]).then(
      () => true,
      () => false,
    );
    if (isRemoved) removed.push(`link ${ifname}`);
  }
  return removed;
}

async function removeDirectories(): Promise<string[]> {
  const removed: string[] = [];
  for (const name of await readdir(MEMORY_ROOT)) {
    const id = DIRECTORY.exec(name)?.[1];
    if (id === undefined || !isGone(id)) continue;
    const path = join(MEMORY_ROOT, name);
    const found = await lstat(path).catch(() => undefined);
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
    removed.push(path);
  }
  return removed;
}
