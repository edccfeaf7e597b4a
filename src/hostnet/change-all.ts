import { spawn } from "node:child_process";
import { line, type IpArgs } from "./batch.ts";
import { KernelError } from "./error.ts";

const DEADLINE_MS = 10_000;
const FAILED = /^Command failed -:(\d+)$/;
const NO_ENTRY = /^(?:Cannot open network namespace|setting the network namespace)/m;

export interface ChangeOptions {
  readonly signal: AbortSignal;
  /** Undefined for our own. */
  readonly namespace?: string | undefined;
  readonly deadlineMs?: number;
}

/**
 * Runs every line in one `ip`, also after a rejected one, and returns the kernel's messages for rejected lines by position. The number of
 * lines is limited to what the pipe takes at once (a thousand addresses fit): then all are sent in this tick, whatever happens to this
 * process.
 */
export async function changeAll(lines: readonly IpArgs[], options: ChangeOptions): Promise<ReadonlyMap<number, string>> {
  const { signal, namespace, deadlineMs = DEADLINE_MS } = options;
  signal.throwIfAborted();
  if (lines.length === 0) return new Map();
  const args = [...(namespace === undefined ? [] : ["-n", namespace]), "-force", "-batch", "-"];
  const about = { command: ["ip", ...args].join(" "), namespace: namespace ?? "" };

  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = spawn("ip", args, { stdio: ["pipe", "ignore", "pipe"] });
  let problem = "";
  child.stdin.on("error", () => {});
  child.stderr.setEncoding("utf8").on("data", (output: string) => (problem += output));
  child.once("error", (cause) => reject(new KernelError("Unreachable", `cannot run ip: ${cause.message}`, about, { cause })));
  child.once("close", () => resolve(problem));
  child.stdin.end(lines.map(line).join(""));

  const onAbort = () => reject(signal.reason as Error);
  const late = setTimeout(() => reject(new KernelError("Timeout", `ip did not answer within ${deadlineMs} ms`, about)), deadlineMs);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const output = await promise;
    if (NO_ENTRY.test(output)) throw new KernelError("Unreachable", output.trim(), about);
    return rejections(output, about);
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", onAbort);
  }
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
