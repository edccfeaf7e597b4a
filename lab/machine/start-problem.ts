import type { LabError } from "../error.ts";
import type { Image } from "../kernel/images.ts";

type Problem = Pick<LabError, "code" | "message">;

const STEP = /^frame: (.*)$/;
const BOOT = "boot";
const TAP = "create a tap device";
const CAPABILITIES = "in a container allow the capabilities NET_ADMIN and SYS_ADMIN";

/** Why a machine did not start and what to do, by the lines of its console: frame.sh says at each step what it does. */
export function startProblem(image: Image | "own", console: readonly string[]): Problem {
  const at = console.findLastIndex((line) => STEP.test(line));
  const step = STEP.exec(console[at] ?? "")?.[1];
  const lines = console.slice(at + 1);
  if (step !== BOOT) return { code: "NotStarted", message: frameText(step, lastOf(lines)) };
  if (image !== "own") return { code: "NotBooted", message: kernelText(image, lines) };
  const message = `The lab's namespaces could not be set up (${lastOf(lines)}): choose User-Mode Linux with --kernel uml`;
  return { code: "NotStarted", message };
}

function frameText(step: string | undefined, reason: string): string {
  if (step === undefined) return `The lab's namespaces could not be created (${reason}): ${CAPABILITIES}`;
  if (step !== TAP) return `The lab's network could not be created (${reason}): ${CAPABILITIES}`;
  const remedy = "in a container allow the device /dev/net/tun and the capability NET_ADMIN";
  return `The lab needs a tap device and cannot create one (${reason}): ${remedy}`;
}

function kernelText({ program, cache }: Image, lines: readonly string[]): string {
  if (lines.some((line) => line.includes("set fp regs failed")))
    return `${program} does not boot on this CPU, because its register state (AMX) is larger than this old User-Mode Linux expects: make a Debian mirror with the suite testing reachable, so that the lab can fetch a newer one`;
  const reason = lines.find((line) => line.includes("panic"))?.trim() ?? lastOf(lines);
  const remedy =
    cache === undefined
      ? "Choose another kernel with --kernel"
      : `Remove ${cache} so that it is built or fetched again, or choose another kernel with --kernel`;
  return `${program} did not boot: ${reason}. ${remedy}`;
}

function lastOf(lines: readonly string[]): string {
  return lines.findLast((line) => !/^(|Powering off.*|reboot:.*)$/.test(line))?.trim() ?? "it ended without a message";
}
