import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { HOLDER_VARIABLE, holderId } from "./holder.ts";

export interface ChildOptions {
  /** Standard output and error go here; its end is quoted when the process dies early. */
  logFile: string;
  env?: Record<string, string>;
  cwd?: string;
}

/** A process of the lab. It dies with the one that started it, however that one ends. */
export class Child {
  readonly name: string;
  readonly #process: ChildProcess;
  readonly #logFile: string;
  readonly #start: () => Child;
  /** Settles when the process has ended. */
  readonly ended: Promise<void>;

  constructor(name: string, command: string, args: readonly string[], options: ChildOptions) {
    this.name = name;
    this.#logFile = options.logFile;
    this.#start = () => new Child(name, command, args, options);
    const log = openSync(options.logFile, "a");
    // setpriv becomes the command, so the pid is the command's own. The kernel sends the signal when our thread is gone, even by SIGKILL.
    this.#process = spawn("setpriv", ["--pdeathsig", "KILL", "--", command, ...args], {
      stdio: ["ignore", log, log],
      env: { ...process.env, ...options.env, [HOLDER_VARIABLE]: holderId() },
      ...(options.cwd ? { cwd: options.cwd } : {}),
    });
    closeSync(log);
    this.ended = new Promise((resolve) => {
      this.#process.once("exit", () => resolve());
      this.#process.once("error", () => resolve());
    });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  get running(): boolean {
    return this.#process.pid !== undefined && this.#process.exitCode === null && this.#process.signalCode === null;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) this.#process.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }

  /** A new one, as this one was started. */
  again(): Child {
    return this.#start();
  }

  logTail(lines = 5): string {
    return readFileSync(this.#logFile, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  }
}

/** Runs a shell script once the calling process is gone, also when it was killed. Returns what runs it now. */
export function sweepWhenGone(script: string, ...args: string[]): () => Promise<void> {
  // Reading to the end of our pipe outlives a SIGKILL of ours.
  const sweeper = spawn("sh", ["-c", `trap "" INT TERM HUP; cat >/dev/null\n${script}`, "sweeper", ...args], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  sweeper.unref();
  return async () => {
    sweeper.ref();
    const gone = once(sweeper, "exit");
    sweeper.stdin.end();
    await gone;
  };
}

/** Removes a directory once the calling process is gone. Returns what removes it now. */
export function removeWhenGone(directory: string): () => Promise<void> {
  // The second rm is for files that dying processes still wrote.
  return sweepWhenGone('rm -rf "$1"; sleep 0.3; rm -rf "$1"', directory);
}
