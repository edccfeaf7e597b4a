import { line, type IpArgs } from "./batch.ts";
import { KernelError } from "./error.ts";
import { feed, type RunOptions } from "./run.ts";

const FAILED = /^Command failed -:(\d+)$/;
const NO_ENTRY = /^(?:Cannot open network namespace|setting the network namespace)/m;

/**
 * Runs every line in one `ip`, also after a rejected one, and returns the kernel's messages for rejected lines by position. The number of
 * lines is limited to what the pipe takes at once (a thousand addresses fit): then all are sent in this tick, whatever happens to this
 * process.
 */
export async function changeAll(lines: readonly IpArgs[], options: RunOptions): Promise<ReadonlyMap<number, string>> {
  options.signal.throwIfAborted();
  if (lines.length === 0) return new Map();
  const entry = options.namespace === undefined ? [] : ["-n", options.namespace];
  const { errors, about } = await feed(["ip", ...entry, "-force", "-batch", "-"], lines.map(line).join(""), options);
  if (NO_ENTRY.test(errors)) throw new KernelError("Unreachable", errors.trim(), about);
  return rejections(errors, about);
}

function rejections(problem: string, about: { command: string; namespace: string }): ReadonlyMap<number, string> {
  const rejected = new Map<number, string>();
  let output: string[] = [];
  for (const text of problem.split("\n").filter((text) => text !== "")) {
    const number = FAILED.exec(text)?.[1];
    if (number === undefined) {
      output.push(text);
    } else {
      rejected.set(Number(number) - 1, output.join("; "));
      output = [];
    }
  }
  // `ip` ends at a malformed line without printing its number, and does not run the lines after it.
  if (output.some((text) => text.startsWith("Error:"))) throw new KernelError("Rejected", output.join("; "), about);
  return rejected;
}
