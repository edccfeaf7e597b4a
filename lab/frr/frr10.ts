import { cachedBuild } from "../cached-build.ts";
import type { Progress } from "../progress.ts";

const RELEASE = "trixie";
const PACKAGES = ["frr", "frr-pythontools", "iproute2"];

// Services must not start in there.
const SCRIPT = `set -e
building=$1; release=$2; shift 2
debootstrap --variant=minbase "$release" "$building"
mount -t proc proc "$building/proc"
printf '#!/bin/sh\\nexit 101\\n' > "$building/usr/sbin/policy-rc.d"
chmod 755 "$building/usr/sbin/policy-rc.d"
DEBIAN_FRONTEND=noninteractive chroot "$building" apt-get install -y --no-install-recommends "$@"
chroot "$building" apt-get clean
umount "$building/proc"
rm -rf "$building"/var/lib/apt/lists/* "$building"/usr/share/doc "$building"/usr/share/man "$building"/usr/share/locale`;

/** A root directory with Debian 13 and its FRR 10: the cached one, else a fresh one (two minutes, once). */
export function frr10(progress: Progress): Promise<string> {
  const build = {
    name: "frr10",
    title: "FRR 10",
    step: "Fetching FRR 10 (Debian 13 in a directory of its own, once; about two minutes)",
    script: SCRIPT,
    args: [RELEASE, ...PACKAGES],
    requirement: "it needs the Debian package debootstrap and a Debian mirror",
  };
  return cachedBuild(build, progress);
}
