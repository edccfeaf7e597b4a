import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../src/util/cache-directory.ts";
import { LabError } from "./error.ts";
import { findGo } from "./kube/go.ts";
import type { Progress } from "./progress.ts";

interface GoCommands {
  /** As people call it, and as its place in the cache is called. */
  readonly title: string;
  /** Where the go.mod is that names the version, and any sources of our own. */
  readonly module: string;
  /** Each gives a command called as its last part. */
  readonly packages: readonly string[];
}

const BUILD_FLAGS = ["-mod=readonly", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w"];
// Without garbage collection the compiler is a fifth faster.
const BUILD_ENV = { CGO_ENABLED: "0", GOGC: "off", GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "" };

/** Where the commands are: the cached build of the version in go.mod, else a fresh one (a minute or two, once). */
export async function goCommands({ title, module, packages }: GoCommands, progress: Progress): Promise<string> {
  const cache = cacheDirectory();
  const directory = join(cache, title.toLowerCase(), await hashOf(module));
  if (existsSync(directory)) return directory;
  const go = await findGo(cache, progress);
  progress.step(`Building ${title} (once; a minute or two on two cores)`);
  const building = `${directory}.${randomUUID()}`;
  await mkdir(building, { recursive: true });
  try {
    const env = { ...process.env, ...BUILD_ENV };
    await promisify(execFile)(go, ["build", ...BUILD_FLAGS, "-o", `${building}/`, ...packages], { cwd: module, env, maxBuffer: 1 << 24 });
    await rename(building, directory);
    progress.done(`${title} is built`);
  } catch (cause) {
    // Another process may have been faster.
    if (!existsSync(directory))
      throw new LabError("NoBinaries", `${title} cannot be built: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return directory;
}

async function hashOf(module: string): Promise<string> {
  const hash = createHash("sha256");
  const sources = (await readdir(module)).filter((file) => file.endsWith(".go")).toSorted();
  for (const file of ["go.mod", "go.sum", ...sources]) hash.update(await readFile(join(module, file)));
  hash.update(JSON.stringify([BUILD_FLAGS, BUILD_ENV, process.arch]));
  return hash.digest("hex").slice(0, 16);
}
