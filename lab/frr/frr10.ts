import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { LabError } from "../error.ts";
import type { Progress } from "../progress.ts";

const RELEASE = "trixie";
const PACKAGES = ["frr", "frr-pythontools", "iproute2"];

// Nothing is left mounted: the mount namespace goes with the shell. Services must not start in there.
const BUILD = `set -e
building=$1; release=$2; shift 2
rm -rf "$building"
debootstrap --variant=minbase "$release" "$building"
mount -t proc proc "$building/proc"
printf '#!/bin/sh\\nexit 101\\n' > "$building/usr/sbin/policy-rc.d"
chmod 755 "$building/usr/sbin/policy-rc.d"
DEBIAN_FRONTEND=noninteractive chroot "$building" apt-get install -y --no-install-recommends "$@"
chroot "$building" apt-get clean
rm -rf "$building"/var/lib/apt/lists/* "$building"/usr/share/doc "$building"/usr/share/man "$building"/usr/share/locale`;

const KEY = `${RELEASE}-${createHash("sha256")
  .update(JSON.stringify([BUILD, PACKAGES, process.arch]))
  .digest("hex")
  .slice(0, 8)}`;

/** A root directory with Debian 13 and its FRR 10: the cached one, else a fresh one (two minutes, once). */
export async function frr10(progress: Progress): Promise<string> {
  const home = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "plumbline", "frr10");
  const root = join(home, KEY);
  if (existsSync(root)) return root;
  await mkdir(home, { recursive: true });
  progress.step("Fetching FRR 10 (Debian 13 in a directory of its own, once; about two minutes)");
  await build(home, root, progress);
  progress.done();
  return root;
}

/** Two who need it at once share one build: the second waits at the lock and finds it done. */
async function build(home: string, root: string, progress: Progress): Promise<void> {
  const script = join(home, "build.sh");
  const building = `${root}.building`;
  await writeFile(`${script}.${process.pid}`, BUILD);
  await rename(`${script}.${process.pid}`, script);
  const once = `[ -d "$2" ] || { unshare --mount --propagation private sh "$1" "$3" ${[RELEASE, ...PACKAGES].join(" ")} && mv -T "$3" "$2"; }`;
  const child = spawn("flock", [join(home, "lock"), "sh", "-c", once, "sh", script, root, building], { stdio: ["ignore", "pipe", "pipe"] });
  const words: string[] = [];
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", (cause) => reject(new LabError("NoBinaries", `FRR 10 cannot be built: ${cause.message}`, cause)));
    child.once("close", resolve);
  });
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      progress.detail(line);
      words.push(line);
    });
  }
  if ((await ended) !== 0) {
    throw new LabError(
      "NoBinaries",
      `FRR 10 could not be built (it needs the Debian package debootstrap and deb.debian.org):\n${words.slice(-5).join("\n")}`,
    );
  }
}
