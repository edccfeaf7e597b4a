import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { LabError } from "../error.ts";
import { findGo } from "../kube/go.ts";
import type { Progress } from "../progress.ts";

const SOURCES = import.meta.dirname;
const COMMANDS = ["gobgpd", "gobgp"] as const;
const BUILD_FLAGS = ["-mod=readonly", "-trimpath", "-ldflags=-s -w"];
const BUILD_ENV = { CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "" };

export type GobgpBinaries = Readonly<Record<(typeof COMMANDS)[number], string>>;

/** GoBGP, the daemon and its command line: the cached build of the version in go.mod, else a fresh one (a minute or two, once). */
export async function gobgpBinaries(progress: Progress): Promise<GobgpBinaries> {
  const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "plumbline");
  const directory = join(cache, "gobgp", await sourceHash());
  if (!existsSync(directory)) await build(cache, directory, progress);
  return { gobgpd: join(directory, "gobgpd"), gobgp: join(directory, "gobgp") };
}

async function sourceHash(): Promise<string> {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(await readFile(join(SOURCES, file)));
  hash.update(JSON.stringify([BUILD_FLAGS, BUILD_ENV, process.arch]));
  return hash.digest("hex").slice(0, 16);
}

async function build(cache: string, directory: string, progress: Progress): Promise<void> {
  const go = await findGo(cache, progress);
  progress.step("Building GoBGP (once; a minute or two on two cores)");
  const building = `${directory}.${process.pid}`;
  await mkdir(building, { recursive: true });
  const packages = COMMANDS.map((command) => `github.com/osrg/gobgp/v4/cmd/${command}`);
  try {
    const env = { ...process.env, ...BUILD_ENV };
    await promisify(execFile)(go, ["build", ...BUILD_FLAGS, "-o", `${building}/`, ...packages], { cwd: SOURCES, env, maxBuffer: 1 << 24 });
    await rename(building, directory);
  } catch (cause) {
    // Another process may have been faster.
    if (existsSync(directory)) return;
    throw new LabError("NoBinaries", `GoBGP cannot be built: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}
