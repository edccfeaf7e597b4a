import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cacheDirectory } from "../src/util/cache-directory.ts";
import { LabError } from "./error.ts";
import type { Progress } from "./progress.ts";

interface CachedBuild {
  /** Its folder in the cache. */
  readonly name: string;
  /** For messages: `FRR 10`. */
  readonly title: string;
  /** The progress step while it is built. */
  readonly step: string;
  /** A shell script that fills the directory it gets as its first argument. */
  readonly script: string;
  readonly args?: readonly string[];
  /** Of all that goes into the build; else of the script and its arguments. */
  readonly hash?: string;
  /** What to check when the build fails: `it needs the Debian package debootstrap`. */
  readonly requirement: string;
  /** Turns a line of the script's output into a progress detail; undefined: not shown. */
  readonly detail?: (line: string) => string | undefined;
}

/** How many lines of a failed build are quoted. */
const QUOTED_LINES = 5;

// A process and a mount namespace of its own: all of it ends with us, and nothing stays mounted.
const CONTAINED = [
  "--pdeathsig",
  "KILL",
  "--",
  "unshare",
  "--mount",
  "--propagation",
  "private",
  "--pid",
  "--fork",
  "--kill-child",
  "--mount-proc",
  "--",
];
// A directory that a killed build left is removed first. What the script has mounted there when it fails is gone before the directory is removed.
const BUILD_ONCE = `script=$1 result=$2 building=$3; shift 3
[ -d "$result" ] && exit
rm -rf "$building" "$building".*
unshare --mount --propagation private -- sh "$script" "$building" "$@" && mv -T "$building" "$result" && exit
rm -rf "$building" "$building".*
exit 1`;

/** Where the result of this build is, whether it exists or not. */
export function cachedBuildPath({ name, script, args = [], hash = hashOf(script, args) }: CachedBuild): string {
  return join(cacheDirectory(), name, hash);
}

function hashOf(script: string, args: readonly string[]): string {
  return createHash("sha256")
    .update(JSON.stringify([script, args, process.arch]))
    .digest("hex")
    .slice(0, 16);
}

/** The cached result, else a fresh one. Two processes that need it at once share one build: the second waits for the first. */
export async function cachedBuild(build: CachedBuild, progress: Progress): Promise<string> {
  const result = cachedBuildPath(build);
  if (existsSync(result)) return result;
  const started = performance.now();
  progress.step(build.step);
  await runLocked(build, result, progress);
  progress.done(`${build.title} is ready after ${Math.round((performance.now() - started) / 1000)} s`);
  return result;
}

async function runLocked(
  { title, script, args = [], requirement, detail = (line) => line }: CachedBuild,
  result: string,
  progress: Progress,
): Promise<void> {
  const home = join(result, "..");
  await mkdir(home, { recursive: true });
  const file = `${result}.sh`;
  const scratch = `${file}.${randomUUID()}`;
  await writeFile(scratch, script);
  await rename(scratch, file);
  const command = ["flock", join(home, "lock"), "sh", "-c", BUILD_ONCE, "sh", file, result, `${result}.building`, ...args];
  const child = spawn("setpriv", [...CONTAINED, ...command], { stdio: ["ignore", "pipe", "pipe"] });
  const lines: string[] = [];
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", (cause) => reject(new LabError("NoBinaries", `${title} cannot be built: ${cause.message}`, cause)));
    child.once("close", resolve);
  });
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      const text = detail(line);
      if (text !== undefined) progress.detail(text);
      lines.push(line);
      if (lines.length > QUOTED_LINES) lines.shift();
    });
  }
  if ((await ended) !== 0) throw new LabError("NoBinaries", `${title} could not be built: ${requirement}\n${lines.join("\n")}`);
}
