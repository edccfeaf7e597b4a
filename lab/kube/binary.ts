import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { cacheDirectory } from "../../src/util/cache-directory.ts";
import { LabError } from "../error.ts";
import type { Progress } from "../progress.ts";
import { findGo } from "./go.ts";

export const KUBERNETES_VERSION = "v1.37.1";

export type Part =
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-scheduler"
  | "kube-proxy"
  | "kubectl"
  | "kwok"
  | "kwok-stages";

/** Where the programs of a control plane are. */
export interface KubeBinaries {
  /** The command line that runs this part, or undefined when these binaries do not bring it. */
  command(part: Part): readonly [string, ...string[]] | undefined;
}

const SOURCES = import.meta.dirname;
const [, MAJOR, MINOR] = /^v(\d+)\.(\d+)/.exec(KUBERNETES_VERSION) ?? [];
const VERSION_PACKAGE = "k8s.io/component-base/version";
const STAMPS = { gitVersion: KUBERNETES_VERSION, gitMajor: MAJOR, gitMinor: MINOR, gitTreeState: "clean" };
const BUILD_FLAGS = [
  "-mod=readonly",
  "-trimpath",
  "-gcflags=all=-dwarf=false",
  `-ldflags=-s -w ${Object.entries(STAMPS)
    .map(([name, value]) => `-X ${VERSION_PACKAGE}.${name}=${value}`)
    .join(" ")}`,
];
// Without garbage collection the compiler is a fifth faster and still stays under 3 GB.
const BUILD_ENV = { CGO_ENABLED: "0", GOGC: "off", GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "" };

/** `KUBEBUILDER_ASSETS` when set, else the cached build of these sources, else a fresh one (eight minutes on two cores, once). */
export async function kubeBinaries(progress: Progress): Promise<KubeBinaries> {
  const assets = process.env["KUBEBUILDER_ASSETS"];
  if (assets) return assetsIn(assets);
  const binary = join(cacheDirectory(), "kube", await sourceHash(), "kube");
  if (existsSync(binary)) {
    const now = new Date();
    await utimes(join(binary, ".."), now, now);
  } else {
    await build(binary, progress);
  }
  return { command: (part) => [binary, part] };
}

async function assetsIn(directory: string): Promise<KubeBinaries> {
  const names = new Set(
    await readdir(directory).catch((cause: unknown) => {
      throw new LabError("NoBinaries", `KUBEBUILDER_ASSETS names ${directory}, which cannot be read`, cause);
    }),
  );
  for (const part of ["etcd", "kube-apiserver"]) {
    if (!names.has(part)) throw new LabError("NoBinaries", `KUBEBUILDER_ASSETS names ${directory}, which has no ${part}`);
  }
  return { command: (part) => (names.has(part) ? [join(directory, part)] : undefined) };
}

async function sourceHash(): Promise<string> {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum", "main.go"]) hash.update(await readFile(join(SOURCES, file)));
  hash.update(JSON.stringify([BUILD_FLAGS, BUILD_ENV, process.arch]));
  return hash.digest("hex").slice(0, 16);
}

async function build(binary: string, progress: Progress): Promise<void> {
  const go = await findGo(cacheDirectory(), progress);
  const env = { ...process.env, ...BUILD_ENV };
  progress.step("Fetching the control plane's Go modules");
  const { stdout } = await promisify(execFile)(go, ["list", "-mod=readonly", "-deps", "."], { cwd: SOURCES, env, maxBuffer: 1 << 26 });
  const packages = stdout.trim().split("\n").length;

  progress.step(`Building the control plane ${KUBERNETES_VERSION} (once; about eight minutes on two cores)`);
  const building = `${binary}.${process.pid}`;
  await mkdir(join(binary, ".."), { recursive: true });
  try {
    await goBuild(go, building, env, (built) => progress.detail(`${built} of ${packages} packages`));
    await rename(building, binary);
    progress.done("The control plane is built");
  } finally {
    await rm(building, { force: true });
  }
  await forgetOldBuilds(join(binary, ".."));
}

async function goBuild(go: string, output: string, env: NodeJS.ProcessEnv, onPackage: (built: number) => void): Promise<void> {
  const child = spawn(go, ["build", "-v", ...BUILD_FLAGS, "-o", output, "."], { cwd: SOURCES, env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const lines: string[] = [];
  let built = 0;
  for await (const line of createInterface({ input: child.stderr })) {
    if (/^[\w./-]+$/.test(line)) onPackage(++built);
    else lines.push(line);
  }
  if ((await ended) !== 0) throw new LabError("NoBinaries", `go build of the control plane failed: ${lines.slice(-5).join("\n")}`);
}

/** Each build is 150 MB; the newest two are kept, so that switching between two branches costs nothing. */
async function forgetOldBuilds(current: string): Promise<void> {
  const home = join(current, "..");
  const builds = await Promise.all(
    (await readdir(home)).map(async (name) => ({ path: join(home, name), at: (await stat(join(home, name))).mtimeMs })),
  );
  for (const { path } of builds.sort((a, b) => b.at - a.at).slice(2))
    if (path !== current) await rm(path, { recursive: true, force: true });
}
