import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, utimes } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory } from "../src/util/cache-directory.ts";
import { cachedBuild, cachedBuildPath } from "./cached-build.ts";
import { findGo } from "./kube/go.ts";
import type { Progress } from "./progress.ts";

interface GoCommands {
  /** As people call it. */
  readonly title: string;
  /** Its folder in the cache, unless that is called as the title. */
  readonly name?: string;
  /** For the progress step: `a minute or two`. */
  readonly duration?: string;
  /** Where the go.mod is that names the version, and any sources of our own. */
  readonly module: string;
  /** Each gives a command called as its last part. */
  readonly packages: readonly string[];
  /** For the linker: values of variables, by package and name. */
  readonly stamps?: Readonly<Record<string, string>>;
}

// Without garbage collection the compiler is a fifth faster; the largest build stays under 3 GB.
const BUILD_ENV = { CGO_ENABLED: "0", GOGC: "off", GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "" };
// Builds take 150 MB: this one and the newest other are kept, so that switching between two branches costs nothing. What killed builds left has a dot in its name.
const SCRIPT = `set -e
building=$1 go=$2 module=$3; shift 3
export ${Object.entries(BUILD_ENV)
  .map(([name, value]) => `${name}=${value}`)
  .join(" ")}
cd "$module"
echo "fetching Go modules"
packages=$("$go" list -deps "$@")
echo "packages: $(echo "$packages" | wc -l)"
mkdir -p "$building"
"$go" build -v -o "$building/" "$@"
cd "$building/.."
ls -dt -- */ | grep -vxF "\${building##*/}/" | awk '/[.]/ || kept++' | while read -r old; do rm -rf "$old"; done
`;

/** Where the commands are: the cached build of the version in go.mod, else a fresh one. */
export async function goCommands(commands: GoCommands, progress: Progress): Promise<string> {
  const { title, name = title.toLowerCase(), duration = "a minute or two", module, packages, stamps = {} } = commands;
  const ldflags = ["-s", "-w", ...Object.entries(stamps).map(([variable, value]) => `-X ${variable}=${value}`)].join(" ");
  const flags = ["-mod=readonly", "-trimpath", "-gcflags=all=-dwarf=false", `-ldflags=${ldflags}`];
  const build = {
    name,
    hash: await hashOf(module, flags),
    title,
    step: `Building ${title} (once; ${duration} on two cores)`,
    script: SCRIPT,
    requirement: "it needs the modules of its go.mod, from a Go proxy or from Go's cache",
    detail: countBuilt(),
  };
  const directory = cachedBuildPath(build);
  if (existsSync(directory)) {
    const now = new Date();
    await utimes(directory, now, now);
    return directory;
  }
  const go = await findGo(cacheDirectory(), progress);
  return cachedBuild({ ...build, args: [go, module, ...flags, ...packages] }, progress);
}

async function hashOf(module: string, flags: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  const sources = (await readdir(module)).filter((file) => file.endsWith(".go")).toSorted();
  for (const file of ["go.mod", "go.sum", ...sources]) hash.update(await readFile(join(module, file)));
  hash.update(JSON.stringify([flags, BUILD_ENV, process.arch]));
  return hash.digest("hex").slice(0, 16);
}

/** Go names each package that it has built. */
function countBuilt(): (line: string) => string | undefined {
  let built = 0;
  let packages = "";
  return (line) => {
    const [, total] = /^packages: (\d+)$/.exec(line) ?? [];
    if (total !== undefined) packages = total;
    else if (!/^[\w./-]+$/.test(line)) return line;
    else built += 1;
    return `${built} of ${packages} packages`;
  };
}
