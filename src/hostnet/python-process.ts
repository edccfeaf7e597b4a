import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface PythonOptions {
  readonly script: string;
  readonly args?: readonly string[];
  /** The namespace it runs in; undefined for our own. */
  readonly netns?: string | undefined;
  readonly signal: AbortSignal;
  readonly onLine: (line: string) => void;
}

export interface PythonProcess {
  write(text: string): void;
  kill(): void;
  /** Resolves with the last line of its errors. */
  readonly ended: Promise<string>;
}

/** A Python program for what Node cannot do, such as raw sockets. It ends with this process, however that ends. */
export function startPython({ script, args = [], netns, signal, onLine }: PythonOptions): PythonProcess {
  const entry = netns === undefined ? [] : ["nsenter", `--net=${join("/run/netns", netns)}`, "--"];
  const command = ["--pdeathsig", "KILL", "--", ...entry, "python3", "-I", "-S", "-c", script, ...args];
  const child = spawn("setpriv", command, { stdio: ["pipe", "pipe", "pipe"] });
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  let stderr = "";
  child.stdin.on("error", () => {});
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr = (stderr + chunk).slice(-1000)));
  child.once("error", (error) => resolve(error.message)).once("close", () => resolve(stderr.trim().split("\n").at(-1) ?? ""));
  createInterface(child.stdout).on("line", onLine);
  const kill = () => child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  return {
    write: (text) => child.stdin.write(text),
    kill,
    ended: ended.finally(() => signal.removeEventListener("abort", kill)),
  };
}
