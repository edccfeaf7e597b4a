import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";

/** A program that runs until its memory has been read. */
export class Resident {
  readonly #child: ChildProcess;
  #errors = "";

  constructor(command: readonly string[], env: Record<string, string | undefined>) {
    this.#child = spawn("setpriv", ["--pdeathsig", "KILL", "--", ...command], { stdio: ["ignore", "ignore", "pipe"], env });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#errors += text));
  }

  async mebibytes(): Promise<number> {
    if (this.#ended) throw new Error(`It has ended: ${this.#errors.slice(-500)}`);
    const status = await readFile(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "close");
  }

  get #ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
