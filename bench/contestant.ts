import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { rolldown } from "rolldown";

/** Bundles a program of a bench into one file in the directory, with the settings that Plumbline ships with. */
export async function bundle(script: string, directory: string): Promise<string> {
  const build = await rolldown({ input: join(import.meta.dirname, script), platform: "node", logLevel: "silent" });
  const file = join(directory, script.replaceAll("/", "-").replace(/\.ts$/, ".mjs"));
  await build.write({ file, format: "esm", minify: "dce-only", codeSplitting: false });
  await build.close();
  return file;
}

/** A bundled program in a fresh Node that dies with us. It reports by `process.send`. */
export class Contestant {
  readonly #process: ChildProcess;
  readonly #reports: unknown[] = [];
  #words = "";

  constructor(file: string, args: readonly string[]) {
    // Each starts alike: nothing compiled before, no mode of ours in its environment.
    const env = { ...process.env, NODE_COMPILE_CACHE: undefined, NODE_OPTIONS: undefined, NODE_ENV: undefined };
    this.#process = spawn("setpriv", ["--pdeathsig", "KILL", "--", process.execPath, "--expose-gc", file, ...args], {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      env,
    });
    this.#process.on("message", (report) => this.#reports.push(report));
    this.#process.stderr?.setEncoding("utf8").on("data", (words: string) => (this.#words += words));
  }

  tell(message: object): void {
    this.#process.send(message);
  }

  /** What it reports next. */
  async next<Report>(): Promise<Report> {
    while (this.#reports.length === 0) {
      if (this.#process.exitCode !== null || this.#process.signalCode !== null) throw new Error(`a contestant ended early: ${this.#words}`);
      await Promise.race([once(this.#process, "message"), once(this.#process, "exit")]);
    }
    return this.#reports.shift() as Report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill("SIGKILL");
    await once(this.#process, "exit");
  }
}
