import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { LabError } from "./error.ts";
import type { Progress } from "./progress.ts";

/** A process that something of the lab lives in. */
interface Holder {
  readonly pid: number;
  /** The kernel's start time of that pid: a pid alone may by now be someone else's. */
  readonly since: string;
}

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
    try {
      const running = JSON.parse(await readFile(this.#file, "utf8")) as T & Holder;
      return startTime(running.pid) === running.since ? running : undefined;
    } catch {
      return undefined;
    }
  }

  /** Called by the process that holds it, once it is up. Returns what takes the record away. */
  async record(what: T): Promise<() => Promise<void>> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const running = { pid: process.pid, since: startTime(process.pid) ?? "", ...what };
    await writeFile(this.#file, JSON.stringify(running, null, 2), { mode: 0o600 });
    return () => rm(this.#directory, { recursive: true, force: true });
  }

  /** Starts a second process that holds it, passes its progress on, and returns when it is up. */
  async start(command: readonly string[], progress: Progress): Promise<T & Holder> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const logFile = join(this.#directory, "log");
    const [program = "", ...args] = command;
    const log = openSync(logFile, "w", 0o600);
    const child = spawn(program, args, { detached: true, stdio: ["ignore", "pipe", log] });
    closeSync(log);
    if (!child.stdout) throw new Error("the child's standard output is a pipe");
    let exited = false;
    child.once("exit", () => (exited = true));
    for await (const line of createInterface({ input: child.stdout })) {
      if (line === "up") break;
      progress.step(line);
    }
    child.unref();
    child.stdout.destroy();
    const running = await this.find();
    if (exited || !running) {
      const end = readFileSync(logFile, "utf8").trim().split("\n").slice(-8).join("\n");
      throw new LabError("NotStarted", `The ${this.#title} did not come up:\n${end}`);
    }
    progress.done();
    return running;
  }

  /** Ends it and waits until nothing of it is left. */
  async stop({ pid, since }: Holder): Promise<void> {
    const gone = () => startTime(pid) !== since;
    process.kill(pid, "SIGTERM");
    const deadline = performance.now() + STOP_WITHIN_MS;
    while (!gone() && performance.now() < deadline) await sleep(50);
    // Its parts carry a parent-death signal and its data a sweeper, so that even this leaves nothing.
    if (!gone()) process.kill(pid, "SIGKILL");
    await rm(this.#directory, { recursive: true, force: true });
  }

  get #directory(): string {
    return join(process.env["XDG_RUNTIME_DIR"] || tmpdir(), `plumbline-${this.#name}-${process.getuid?.() ?? 0}`);
  }

  get #file(): string {
    return join(this.#directory, "running.json");
  }
}

function startTime(pid: number): string | undefined {
  try {
    // The program's name stands in brackets and may hold spaces; the start time is the twentieth field after it.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}
