import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { KernelError } from "./error.ts";

const DEADLINE_MS = 15_000;
/** Its reply means that everything before it is done. */
const DONE = ["link", "show", "dev", "lo"];
const INTERRUPTED = "Dump was interrupted";
const FAILED = /^Command failed -:(\d+)\s*$/m;
const NO_ENTRY = /^(?:Cannot open network namespace|setting the network namespace)/m;

export type IpArgs = readonly string[];

/** `failed` is the number of the first rejected line; the lines after it were not run. */
export interface BatchResult {
  readonly replies: readonly unknown[];
  readonly failed?: { readonly line: number; readonly text: string };
}

/**
 * One `ip -batch -` in one namespace, kept open: a command takes a tenth of a millisecond, a separate process several. For one pass only,
 * since it caches the index of a name. Without `-force` it ends at the first rejection, so nothing runs after a failed step; the next lines
 * go to a new process. After a `link show` it no longer prints addresses of single devices.
 */
export class Batch implements AsyncDisposable {
  readonly #namespace: string | undefined;
  readonly #signal: AbortSignal;
  readonly #deadlineMs: number;
  #process: ChildProcessWithoutNullStreams | undefined;
  #lines = 0;
  #interrupted = false;

  constructor(namespace: string | undefined, signal: AbortSignal, deadlineMs = DEADLINE_MS) {
    this.#namespace = namespace;
    this.#signal = signal;
    this.#deadlineMs = deadlineMs;
  }

  /** Runs lines in order, up to the first rejected one. `replies` are those of the `reads`, which come after the `writes`. */
  async run(writes: readonly IpArgs[], reads: readonly IpArgs[]): Promise<BatchResult> {
    this.#signal.throwIfAborted();
    const expected = reads.length === 0 ? [DONE] : reads;
    const text = [...writes, ...expected].map(line).join("");
    const child = (this.#process ??= this.#start());
    const before = this.#lines;
    this.#lines += writes.length + expected.length;

    const { promise, resolve, reject } = Promise.withResolvers<BatchResult>();
    const chunks: string[] = [];
    let missing = expected.length;
    let problem = "";

    const onData = (chunk: string) => {
      chunks.push(chunk);
      for (let at = chunk.indexOf("\n"); at >= 0; at = chunk.indexOf("\n", at + 1)) missing -= 1;
      if (missing > 0) return;
      const replies = chunks.join("").trimEnd().split("\n");
      resolve({ replies: reads.length === 0 ? [] : replies.map((reply) => JSON.parse(reply) as unknown) });
    };
    const onProblem = (chunk: string) => (problem += chunk);
    const onError = (cause: Error) => reject(this.#error("Unreachable", `cannot run ip: ${cause.message}`, { cause }));
    const onClose = () => {
      this.#process = undefined;
      if (missing <= 0) return;
      const text = problem.replace(FAILED, "").trim();
      const number = FAILED.exec(problem)?.[1];
      if (NO_ENTRY.test(text)) reject(this.#error("Unreachable", text));
      else if (text === "") reject(this.#error("Unreachable", "ip exited without output"));
      // `ip` ends at a malformed line without printing its number.
      else
        resolve({
          replies: [],
          failed: { line: number === undefined ? rejectedLine(text, writes) : Number(number) - before - 1, text: text },
        });
    };
    const onAbort = () => reject(this.#signal.reason as Error);
    const late = setTimeout(() => reject(this.#error("Timeout", `ip did not answer within ${this.#deadlineMs} ms`)), this.#deadlineMs);

    child.stdout.on("data", onData);
    child.stderr.on("data", onProblem);
    child.once("error", onError).once("close", onClose);
    this.#signal.addEventListener("abort", onAbort, { once: true });
    child.stdin.write(text);
    try {
      return await promise;
    } catch (error) {
      child.kill("SIGKILL");
      this.#process = undefined;
      throw error;
    } finally {
      clearTimeout(late);
      this.#signal.removeEventListener("abort", onAbort);
      child.stdout.off("data", onData);
      child.stderr.off("data", onProblem);
      child.off("error", onError).off("close", onClose);
    }
  }

  /** Drops the cached names and indexes; the next lines go to a new process. */
  retire(): void {
    this.#process?.stdin.end();
    this.#process = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    const closed = new Promise((resolve) => child.once("close", resolve));
    const late = setTimeout(() => child.kill("SIGKILL"), this.#deadlineMs);
    this.retire();
    await closed;
    clearTimeout(late);
  }

  /** Whether links changed during a dump, so that some may be missing. Final after the batch is disposed of. */
  get interrupted(): boolean {
    return this.#interrupted;
  }

  /** As typed in a shell. */
  typed(args: IpArgs): string {
    return ["ip", ...this.#entry, ...args].join(" ");
  }

  get #entry(): readonly string[] {
    return this.#namespace === undefined ? [] : ["-n", this.#namespace];
  }

  #start(): ChildProcessWithoutNullStreams {
    this.#lines = 0;
    const child = spawn("ip", [...this.#entry, "-d", "-j", "-batch", "-"]);
    child.stdout.setEncoding("utf8");
    child.stderr.setEncoding("utf8").on("data", (text: string) => (this.#interrupted ||= text.includes(INTERRUPTED)));
    // Its exit is reported elsewhere.
    child.stdin.on("error", () => {});
    child.on("error", () => {});
    return child;
  }

  #error(code: "Unreachable" | "Timeout", text: string, options?: ErrorOptions): KernelError {
    return new KernelError(code, text, { command: this.typed(["-d", "-j", "-batch", "-"]), namespace: this.#namespace ?? "" }, options);
  }
}

function rejectedLine(text: string, writes: readonly IpArgs[]): number {
  const argument = /argument "([^"]+)" is wrong/.exec(text)?.[1];
  return Math.max(
    0,
    writes.findIndex((write) => argument !== undefined && write.includes(argument)),
  );
}

/** The syntax of `ip -batch`: quotes keep an argument together, and a # starts a comment even inside them. */
export function line(args: IpArgs): string {
  return `${args.map((arg) => (/^[\w.:/@,+=%-]+$/.test(arg) ? arg : `"${arg.replaceAll(/["#\\\p{Cc}]/gu, "?")}"`)).join(" ")}\n`;
}
