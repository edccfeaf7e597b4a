import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LabError } from "./error.ts";
import { type Holder, HOLDER_VARIABLE, isAlive, startTime } from "./holder.ts";
import { CliError } from "../src/cli/shared/exit.ts";
import type { Progress } from "./progress.ts";
import { readReport } from "./start-report.ts";

const STOP_WITHIN_MS = 30_000;

/** The one thing of its name that runs for this user, and what others may know of it: in front, or left running in the background. */
export class Background<T extends object> {
  readonly #name: string;
  readonly #title: string;

  /** The title is how messages call it: `control plane`. */
  constructor(name: string, title: string) {
    this.#name = name;
    this.#title = title;
  }

  async find(): Promise<(T & Holder) | undefined> {
    const running = await this.#read<T & Holder>("running.json");
    return running && isAlive(running) ? running : undefined;
  }

  /** Removes the record of one that was killed, while it ran or while it started. Returns where that was. */
  async removeStale(): Promise<string | undefined> {
    const holders = [await this.#read<Holder>("running.json"), await this.#read<Holder>("starting.json")].filter(
      (one) => one !== undefined,
    );
    if (holders.length === 0 || holders.some(isAlive)) return undefined;
    await rm(this.#directory, { recursive: true, force: true });
    return this.#directory;
  }

  /** Called by the process that holds it, once it is up. Two may have been started at the same time: the second is refused. Returns what takes the record away. */
  async record(what: T): Promise<() => Promise<void>> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const other = await this.find();
    if (other) throw new LabError("NotStarted", `A ${this.#title} is already running (pid ${other.pid})`);
    await this.#write("running.json", { ...holderOf(process.pid), ...what });
    return () => rm(this.#directory, { recursive: true, force: true });
  }

  /** Starts a second process that holds it, passes its progress on, and returns when it is up. If that process says why it failed, nothing of it is left. */
  async start(command: readonly string[], progress: Progress): Promise<T & Holder> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const logFile = join(this.#directory, "log");
    const [program = "", ...args] = command;
    const log = openSync(logFile, "w", 0o600);
    // It holds a lab of its own, which is not part of ours.
    const env = { ...process.env, [HOLDER_VARIABLE]: undefined };
    const child = spawn(program, args, { detached: true, stdio: ["ignore", "pipe", log], env });
    closeSync(log);
    if (!child.stdout) throw new Error("the child's standard output must be a pipe");
    const exited = new Promise((resolve) => child.once("exit", resolve));
    const starting = holderOf(child.pid ?? 0);
    await this.#write("starting.json", starting);
    const outcome = await readReport(child.stdout, progress);
    if (outcome?.is === "failed") {
      progress.failed();
      await exited;
      await this.#forget(starting);
      throw new CliError(outcome.sentence, outcome.exitCode);
    }
    // Without a word: it ends, and must not look as if it still ran.
    if (!outcome) await exited;
    child.unref();
    child.stdout.destroy();
    const running = await this.find();
    if (!outcome || !running) {
      progress.failed();
      const end = readFileSync(logFile, "utf8").trim().split("\n").slice(-8).join("\n");
      throw new LabError("NotStarted", `The ${this.#title} did not come up:\n${end}`);
    }
    progress.done();
    return running;
  }

  /** Ends it and waits until nothing of it is left. */
  async stop(holder: Holder): Promise<void> {
    process.kill(holder.pid, "SIGTERM");
    const deadline = performance.now() + STOP_WITHIN_MS;
    while (isAlive(holder) && performance.now() < deadline) await sleep(50);
    // Its parts carry a parent-death signal and its data a sweeper, so that even this leaves nothing.
    if (isAlive(holder)) process.kill(holder.pid, "SIGKILL");
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Another one may have begun or be running meanwhile: what is its stays. */
  async #forget({ pid, since }: Holder): Promise<void> {
    const starting = await this.#read<Holder>("starting.json");
    if (starting?.pid !== pid || starting.since !== since) return;
    await rm(join(this.#directory, "starting.json"), { force: true });
    if (!(await this.find())) await rm(this.#directory, { recursive: true, force: true });
  }

  get #directory(): string {
    return join(process.env["XDG_RUNTIME_DIR"] || tmpdir(), `plumbline-${this.#name}-${process.getuid?.() ?? 0}`);
  }

  async #read<R>(file: string): Promise<R | undefined> {
    try {
      return JSON.parse(await readFile(join(this.#directory, file), "utf8")) as R;
    } catch {
      return undefined;
    }
  }

  async #write(file: string, what: object): Promise<void> {
    await writeFile(join(this.#directory, file), JSON.stringify(what, null, 2), { mode: 0o600 });
  }
}

function holderOf(pid: number): Holder {
  return { pid, since: startTime(pid) ?? "" };
}
