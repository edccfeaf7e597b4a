import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";

/** One file, and the flags that Node is given with it. */
export interface Program {
  file: string;
  nodeFlags: readonly string[];
}

/** Our program as it ships: in one file, under the launcher's flags. */
export async function ourProgram(script: string, directory: string): Promise<Program> {
  return { file: await bundle(script, directory), nodeFlags: await launcherFlags() };
}

/** What the launcher gives Node. */
export async function launcherFlags(): Promise<readonly string[]> {
  const launcher = await readFile(join(import.meta.dirname, "../plumbline"), "utf8");
  const [, options = ""] = /^exec "\$node" (.*) "\$home\/src\/main\.ts"/m.exec(launcher) ?? [];
  return options.match(/--\S+/g) ?? [];
}

/** The peer's program, in one file too, under Node's own settings. */
export async function peerProgram(script: string, directory: string): Promise<Program> {
  return { file: await bundle(script, directory), nodeFlags: [] };
}

async function bundle(script: string, directory: string): Promise<string> {
  const build = await rolldown({ input: join(import.meta.dirname, script), platform: "node", logLevel: "silent" });
  const file = join(directory, script.replaceAll("/", "-").replace(/\.ts$/, ".mjs"));
  await build.write({ file, format: "esm", minify: "dce-only", codeSplitting: false });
  await build.close();
  return file;
}

/** A program in a fresh Node that dies with us. It reports by `process.send`. */
export class Contestant {
  readonly #process: ChildProcess;
  readonly #reports: unknown[] = [];
  #errors = "";

  constructor({ file, nodeFlags }: Program, args: readonly string[]) {
    // Each starts alike: nothing compiled before, no mode of ours in its environment.
    const env = { ...process.env, NODE_COMPILE_CACHE: undefined, NODE_OPTIONS: undefined, NODE_ENV: undefined };
    const command = [process.execPath, "--expose-gc", ...nodeFlags, file, ...args];
    this.#process = spawn("setpriv", ["--pdeathsig", "KILL", "--", ...command], { stdio: ["ignore", "ignore", "pipe", "ipc"], env });
    this.#process.on("message", (report) => this.#reports.push(report));
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#errors += text));
  }

  tell(message: object): void {
    this.#process.send(message);
  }

  async next<Report>(): Promise<Report> {
    while (this.#reports.length === 0) {
      if (this.#ended) throw new Error(`The process ended before it reported: ${this.#errors.trim()}`);
      await Promise.race([once(this.#process, "message"), once(this.#process, "close")]);
    }
    return this.#reports.shift() as Report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended) return;
    this.#process.kill("SIGKILL");
    await once(this.#process, "close");
  }

  get #ended(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }
}
