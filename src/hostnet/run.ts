import { execFile } from "node:child_process";
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

const NO_ENTRY = /^(?:Cannot open network namespace|setting the network namespace|nsenter:)/m;

/** What `ip` prints in a namespace. */
export async function ip(namespace: string | undefined, args: readonly string[], options: Omit<RunOptions, "namespace">): Promise<string> {
  const entry = namespace === undefined ? [] : ["-n", namespace];
  return (await run("ip", [...entry, ...args], { ...options, namespace })).stdout;
}
