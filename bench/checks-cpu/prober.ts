import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../src/util/cache-directory.ts";
import { findGo } from "../../lab/kube/go.ts";
import { progressOn } from "../../lab/progress.ts";
import type { Spent } from "./report.ts";

const SOURCES = import.meta.dirname;
const BUILD_FLAGS = ["-mod=readonly", "-trimpath", "-ldflags=-s -w"];
const BUILD_ENV = { CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "" };
const run = promisify(execFile);

/** The prober in Go: the cached build of the source beside this, else a fresh one. */
export async function goProber(): Promise<string> {
  const cache = cacheDirectory();
  const hash = createHash("sha256");
  for (const file of ["go.mod", "main.go"]) hash.update(await readFile(join(SOURCES, file)));
  const program = join(cache, "checks-cpu", hash.digest("hex").slice(0, 16));
  if (existsSync(program)) return program;
  const go = await findGo(cache, progressOn(process.stderr));
  const building = `${program}.${process.pid}`;
  await mkdir(dirname(program), { recursive: true });
  try {
    await run(go, ["build", ...BUILD_FLAGS, "-o", building, "."], { cwd: SOURCES, env: { ...process.env, ...BUILD_ENV } });
    await rename(building, program);
  } finally {
    await rm(building, { force: true });
  }
  return program;
}

/** Runs it to its end; it dies with us. */
export async function runProber(program: string, args: readonly string[]): Promise<Spent> {
  const { stdout } = await run("setpriv", ["--pdeathsig", "KILL", "--", program, ...args]);
  return JSON.parse(stdout) as Spent;
}
