import { execFile } from "node:child_process";
import { describe, test } from "vitest";
import { cacheDirectory } from "../../src/util/cache-directory.ts";
import { LAUNCHER } from "../support/command-line.ts";

// What a lab cannot start with: one sentence with cause and remedy, exit 3, nothing left.

interface Ended {
  readonly code: unknown;
  readonly stderr: string;
  /** Files in memory, network links, unfinished builds and records when it had ended. */
  readonly left: string;
}

const LEFT = "left behind:";
// Namespaces and a runtime directory of its own, so that what other labs have, or left, is not seen there.
const SCRIPT = `mount -t tmpfs -o size=8g tmpfs /dev/shm
mount -t tmpfs tmpfs /run
export XDG_RUNTIME_DIR=/run
prepare=$1; shift
eval "$prepare"
"$@"
code=$?
echo "${LEFT}"
ls -A /dev/shm
find /run -name '*.building*' -o -name 'plumbline-*'
ip -o link | grep -v ' lo:'
exit $code`;

function labUp(prepare: string, args: readonly string[]): Promise<Ended> {
  const own = ["--net", "--pid", "--fork", "--mount-proc", "--mount", "--propagation", "private", "--", "sh", "-c", SCRIPT, "sh", prepare];
  return new Promise((resolve) => {
    execFile("unshare", [...own, LAUNCHER, "lab", "up", ...args], (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, stderr, left: stdout.slice(stdout.indexOf(LEFT) + LEFT.length).trim() });
    });
  });
}

const CASES: readonly (readonly [what: string, prepare: string, args: string, sentence: RegExp])[] = [
  [
    "a kernel image that is not there",
    "",
    "/nowhere/linux",
    /^plumbline: Kernel image \/nowhere\/linux not found: give the path of a User-Mode Linux\n$/,
  ],
  [
    "a kernel image that does not boot",
    "",
    "/bin/false",
    /^plumbline: \/bin\/false did not boot: it ended without a message\. Choose another kernel with --kernel\n$/,
  ],
  [
    "a kernel of the cache that does not boot",
    `for kernel in ${cacheDirectory()}/kernel/*/linux; do mount --bind /bin/false "$kernel"; done`,
    "uml --kube",
    /^plumbline: (\S+\/kernel\/\w+)\/linux did not boot: it ended without a message\. Remove \1 so that it is built or fetched again, or choose another kernel with --kernel\n$/,
  ],
  [
    "a tap device that may not be opened",
    "mount -t tmpfs -o nodev tmpfs /dev/net; mknod /dev/net/tun c 10 200",
    "/bin/false",
    /^plumbline: The lab needs a tap device and cannot create one \(open: Permission denied\): in a container allow the device \/dev\/net\/tun and the capability NET_ADMIN\n$/,
  ],
  [
    "root without the right to change networks",
    'set -- setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$@"',
    "/bin/false",
    /^plumbline: The lab's network could not be created \(RTNETLINK answers: Operation not permitted\): in a container allow the capabilities NET_ADMIN and SYS_ADMIN\n$/,
  ],
  [
    "no root",
    'chmod 1777 /dev/shm /run; set -- setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent "$@"',
    "uml",
    /^plumbline: The lab creates network namespaces, which only root may: run it as root\n$/,
  ],
  [
    "no tap device",
    "mount -t tmpfs tmpfs /dev/net",
    "uml",
    /^plumbline: The lab needs a tap device and \/dev\/net\/tun is missing: load the kernel module tun \(modprobe tun\)\n$/,
  ],
  [
    "too little memory",
    "mount -o remount,size=64m /dev/shm",
    "uml",
    /^plumbline: The lab needs 3 GB of memory and \/dev\/shm has 0\.1 GB free: end other programs, or use a larger machine\n$/,
  ],
  [
    "no mirror to fetch the kernel from",
    "export XDG_CACHE_HOME=/run/cache; mount -t tmpfs tmpfs /var/lib/apt/lists",
    "uml",
    // The last lines of apt-get follow.
    /^plumbline: User-Mode Linux of this Debian release could not be built: it needs a Debian mirror\n/m,
  ],
];

describe.concurrent.each([
  { mode: "in the foreground", flags: ["--foreground"], progress: /$^/g },
  { mode: "in the background", flags: [], progress: /^.* \(\d+s\)\n/gm },
])("$mode", ({ flags, progress }) => {
  test.for(CASES)("%s: one sentence, exit 3, and nothing is left", async ([_what, prepare, args, sentence], { expect }) => {
    const { code, stderr, left } = await labUp(prepare, [...flags, "--kernel", ...args.split(" ")]);
    expect({ code, left }).toEqual({ code: 3, left: "" });
    expect(stderr.replaceAll(progress, "")).toMatch(sentence);
  });
});
