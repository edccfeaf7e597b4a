import { expect, test } from "vitest";
import { startProblem } from "./start-problem.ts";

const CACHED = { program: "/cache/kernel/abc/linux", cache: "/cache/kernel/abc", seccomp: true };
const NAMED = { program: "/bin/false", seccomp: true };
const FRAME = ["frame: create the lab's network", "frame: create a tap device"];
const BOOTING = [...FRAME, "frame: boot"];

test.each([
  {
    what: "a cached kernel that panics: its directory in the cache is to be removed",
    image: CACHED,
    console: [...BOOTING, "Core dump limits", "Kernel panic - not syncing: no init", "reboot: System halted"],
    code: "NotBooted",
    message:
      "/cache/kernel/abc/linux did not boot: Kernel panic - not syncing: no init. Remove /cache/kernel/abc so that it is built or fetched again, or choose another kernel with --kernel",
  },
  {
    what: "a kernel that the user named and that ends without a word: nothing is to be removed",
    image: NAMED,
    console: BOOTING,
    code: "NotBooted",
    message: "/bin/false did not boot: it ended without a message. Choose another kernel with --kernel",
  },
  {
    what: "a kernel that the user named and that ends with a message",
    image: NAMED,
    console: [...BOOTING, "usage: false", "Powering off"],
    code: "NotBooted",
    message: "/bin/false did not boot: usage: false. Choose another kernel with --kernel",
  },
  {
    what: "an old User-Mode Linux on a CPU with AMX",
    image: CACHED,
    console: [...BOOTING, "ptrace set fp regs failed, errno = 22"],
    code: "NotBooted",
    message:
      "/cache/kernel/abc/linux does not boot on this CPU, because its register state (AMX) is larger than this old User-Mode Linux expects: make a Debian mirror with the suite testing reachable, so that the lab can fetch a newer one",
  },
  {
    what: "a tap device that may not be opened",
    image: CACHED,
    console: [...FRAME, "open: Operation not permitted"],
    code: "NotStarted",
    message:
      "The lab needs a tap device and cannot create one (open: Operation not permitted): in a container allow the device /dev/net/tun and the capability NET_ADMIN",
  },
  {
    what: "a network that may not be changed",
    image: CACHED,
    console: ["frame: create the lab's network", "RTNETLINK answers: Operation not permitted"],
    code: "NotStarted",
    message:
      "The lab's network could not be created (RTNETLINK answers: Operation not permitted): in a container allow the capabilities NET_ADMIN and SYS_ADMIN",
  },
  {
    what: "namespaces that may not be created",
    image: "own" as const,
    console: ["unshare: unshare failed: Operation not permitted"],
    code: "NotStarted",
    message:
      "The lab's namespaces could not be created (unshare: unshare failed: Operation not permitted): in a container allow the capabilities NET_ADMIN and SYS_ADMIN",
  },
  {
    what: "this machine's own kernel, where a step inside fails",
    image: "own" as const,
    console: ["frame: create the lab's network", "frame: boot", "mount: permission denied"],
    code: "NotStarted",
    message: "The lab's namespaces could not be set up (mount: permission denied): choose User-Mode Linux with --kernel uml",
  },
])("$what", ({ image, console, code, message }) => {
  expect(startProblem(image, console)).toEqual({ code, message });
});
