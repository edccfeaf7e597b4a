import { execFile, spawn } from "node:child_process";
import { KernelError } from "./error.ts";

const DEADLINE_MS = 15_000;
const MOST_OUTPUT = 256 * 1024 * 1024;

export interface RunOptions {
  readonly signal: AbortSignal;
  /** The namespace it works in; undefined for our own. */
  readonly namespace?: string | undefined;
  readonly link?: string;
  readonly deadlineMs?: number;
}

interface About {
  readonly command: string;
  readonly namespace: string;
}

export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/** For rare commands. Throws a KernelError with the output. */
export async function run(program: string, args: readonly string[], options: RunOptions): Promise<Output> {
  const { signal, namespace = "", link, deadlineMs = DEADLINE_MS } = options;
  signal.throwIfAborted();
  const about = { command: [program, ...args].join(" "), namespace, ...(link !== undefined && { link }) };
  return new Promise((resolve, reject) => {
    const limits = { signal, timeout: deadlineMs, killSignal: "SIGKILL", maxBuffer: MOST_OUTPUT } as const;
    execFile(program, args, limits, (cause, stdout, stderr) => {
      if (!cause) return resolve({ stdout, stderr });
      if (signal.aborted) return reject(signal.reason as Error);
      const text = stderr.trim();
      if (cause.killed) return reject(new KernelError("Timeout", `${program} did not answer within ${deadlineMs} ms`, about, { cause }));
      if (typeof cause.code === "string")
        return reject(new KernelError("Unreachable", `cannot run ${program}: ${cause.message}`, about, { cause }));
      reject(new KernelError(NO_ENTRY.test(text) ? "Unreachable" : "Rejected", text || cause.message, about, { cause }));
    });
  });
}

/** Gives a program all input that a pipe takes at once in this tick, whatever happens to this process. Returns what it printed as errors. */
export async function feed(
  [program, ...args]: readonly [string, ...string[]],
  input: string,
  { signal, namespace = "", deadlineMs = 10_000 }: RunOptions,
): Promise<{ code: number | null; errors: string; about: About }> {
  signal.throwIfAborted();
  const about = { command: [program, ...args].join(" "), namespace };
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  const child = spawn(program, args, { stdio: ["pipe", "ignore", "pipe"] });
  let errors = "";
  child.stdin.on("error", () => {});
  child.stderr.setEncoding("utf8").on("data", (output: string) => (errors += output));
  child.once("error", (cause) => reject(new KernelError("Unreachable", `cannot run ${program}: ${cause.message}`, about, { cause })));
  child.once("close", resolve);
  child.stdin.end(input);
  const onAbort = () => reject(signal.reason as Error);
  const isLate = () => reject(new KernelError("Timeout", `${program} did not answer within ${deadlineMs} ms`, about));
  const late = setTimeout(isLate, deadlineMs);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return { code: await promise, errors, about };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", onAbort);
  }
}

const NO_ENTRY = /^(?:Cannot open network namespace|setting the network namespace|nsenter:)/m;

export async function ip(namespace: string | undefined, args: readonly string[], options: Omit<RunOptions, "namespace">): Promise<string> {
  const entry = namespace === undefined ? [] : ["-n", namespace];
  return (await run("ip", [...entry, ...args], { ...options, namespace })).stdout;
}
