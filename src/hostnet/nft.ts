import { spawn } from "node:child_process";
import { join } from "node:path";
import { KernelError } from "./error.ts";

const DEADLINE_MS = 10_000;

export interface NftOptions {
  readonly signal: AbortSignal;
  /** Undefined for our own. */
  readonly namespace?: string | undefined;
}

/** nftables applies the text atomically. */
export async function nft(text: string, { signal, namespace }: NftOptions): Promise<void> {
  signal.throwIfAborted();
  const entry = namespace === undefined ? [] : ["nsenter", `--net=${join("/run/netns", namespace)}`, "--"];
  const [program, ...args] = [...entry, "nft", "-f", "-"];
  const about = { command: [program, ...args].join(" "), namespace: namespace ?? "" };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(program, args, { stdio: ["pipe", "ignore", "pipe"] });
  let output = "";
  child.stdin.on("error", () => {});
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  child.once("error", (cause) => reject(new KernelError("Unreachable", `cannot run ${program}: ${cause.message}`, about, { cause })));
  child.once("close", (code) => {
    if (code === 0) resolve();
    else if (/failed to execute nft/.test(output)) reject(new KernelError("Unreachable", output.trim(), about));
    else reject(new KernelError("Rejected", firstProblem(output), about));
  });
  child.stdin.end(text);
  const onAbort = () => reject(signal.reason as Error);
  const late = setTimeout(() => reject(new KernelError("Timeout", `nft did not answer within ${DEADLINE_MS} ms`, about)), DEADLINE_MS);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await promise;
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Without the position and the quoted text. */
function firstProblem(output: string): string {
  return /Error: (.+)/.exec(output)?.[1] ?? output.trim().slice(0, 500);
}
