import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cachedBuild, cachedBuildPath } from "../cached-build.ts";
import type { Progress } from "../progress.ts";

/** A User-Mode Linux that can be started. */
export interface Image {
  readonly program: string;
  /** The directory in the cache that it is in; undefined: the user named the program. */
  readonly cache?: string;
  /** Where its modules are; undefined: everything is built in. */
  readonly modules?: string;
  /** Whether it intercepts system calls by seccomp, which is much faster than ptrace. */
  readonly seccomp: boolean;
}

// fetch DIRECTORY PACKAGE...: unpacks packages of Debian testing there. The system's own packages, sources and lists stay as they are.
const FETCH = `set -e
apt_of_testing() {
  tool=$1; shift
  "$tool" -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$apt/lists" \\
    -o Dir::Cache="$apt/cache" -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Sandbox::User=root "$@"
}
fetch() {
  into=$1; shift
  apt=$into.apt
  mkdir -p "$into" "$apt/lists/partial" "$apt/cache/archives/partial"
  mirror=$(apt-get indextargets --no-release-info --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/$') ||
    { echo "no Debian mirror among this machine's apt sources"; exit 1; }
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror testing main" >"$apt/sources.list"
  apt_of_testing apt-get -qq update
  # A package that only depends on the one of the current version stands for that one.
  for package in "$@"; do
    versioned=$(apt_of_testing apt-cache depends "$package" | sed -n "s/^ *Depends: \\($package-[0-9.]*\\)$/\\1/p" | head -1)
    (cd "$apt" && apt_of_testing apt-get -qq download "\${versioned:-$package}")
  done
  for package in "$apt"/*.deb; do dpkg -x "$package" "$into"; done
  rm -rf "$apt"
}
`;

const PACKAGED = {
  name: "kernel",
  title: "User-Mode Linux of Debian testing",
  step: "Fetching User-Mode Linux (Debian testing's package, unpacked in the cache; once)",
  requirement: "it needs the Debian package patchelf and a Debian mirror",
  script: `${FETCH}
building=$1 result=\${1%.building}
fetch "$building" user-mode-linux libc6
# It needs a newer C library than a stable Debian has, and starts itself again, so the loader cannot be named on the command line.
library=$(dirname "$(find "$building" -name libc.so.6)")
at=$result\${library#"$building"}
patchelf --set-interpreter "$at/ld-linux-x86-64.so.2" --set-rpath "$at" "$building/usr/bin/linux.uml"
`,
} as const;

const OLD = {
  name: "kernel",
  title: "User-Mode Linux of this Debian release",
  step: "Fetching User-Mode Linux (this Debian release's package, unpacked in the cache; once)",
  requirement: "it needs a Debian mirror",
  script: `set -e
mkdir -p "$1"
cd "$1"
apt-get -qq download user-mode-linux || { apt-get -qq update && apt-get -qq download user-mode-linux; }
dpkg -x user-mode-linux_*.deb .
rm user-mode-linux_*.deb
`,
} as const;

const CONFIG = readFileSync(join(import.meta.dirname, "config"), "utf8");

const BUILT = {
  name: "kernel",
  title: "The lab's kernel",
  step: "Building the lab's kernel from Debian's source (once; about ten minutes on two cores)",
  requirement: "it needs the Debian packages gcc, make, flex, bison, bc, libelf-dev and xz-utils, and a Debian mirror",
  script: `${FETCH}
building=$1
fetch "$building/package" linux-source
mkdir "$building/source"
tar -xf "$building"/package/usr/src/linux-source-*.tar.xz -C "$building/source" --strip-components=1
rm -rf "$building/package"
cd "$building/source"
make -s ARCH=um defconfig
cat >wanted <<'CONFIG'
${CONFIG}
CONFIG
cat wanted >>.config
make -s ARCH=um olddefconfig
if grep -E '^(# )?CONFIG_' wanted | grep -vxFf .config; then echo "this kernel source does not take the options above"; exit 1; fi
make ARCH=um -j"$(nproc)" linux
strip -o "$building/linux" linux
cd /
rm -rf "$building/source"
`,
  detail: countCompiled(),
};

/** What can be fetched or built, by how good it is. */
export const IMAGES = {
  /** Everything the lab can use, in one file. Ten minutes, once. */
  built: {
    title: BUILT.title,
    isCached: () => existsSync(cachedBuildPath(BUILT)),
    get: async (progress: Progress): Promise<Image> => {
      const cache = await cachedBuild(BUILT, progress);
      return { program: join(cache, "linux"), cache, seccomp: true };
    },
  },
  /** Debian testing's package: seconds to fetch, but without nftables for IP. */
  packaged: {
    title: PACKAGED.title,
    get: async (progress: Progress) => imageInPackage(await cachedBuild(PACKAGED, progress), true),
  },
  /** The package of the machine's own Debian release: 6.1 of Debian 12 is slow, and does not boot on a CPU with AMX. */
  old: {
    title: OLD.title,
    get: async (progress: Progress) => imageInPackage(await cachedBuild(OLD, progress), false),
  },
} as const;

function imageInPackage(cache: string, seccomp: boolean): Image {
  return { program: join(cache, "usr/bin/linux.uml"), modules: join(cache, "usr/lib/uml/modules"), cache, seccomp };
}

function countCompiled(): (line: string) => string | undefined {
  let compiled = 0;
  return (line) => (/^\s*(CC|AS|AR|LD) /.test(line) ? `${++compiled} files` : undefined);
}
