import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { LabError } from "../error.ts";
import { type CommandOptions, Machine, type MachineAccess, type ExecOutcome, type RemoteProcess } from "../machine/machine.ts";

const SCRIPT = join(import.meta.dirname, "lab-host.sh");
const CHECKOUT = join(import.meta.dirname, "../..");

/** What another process needs to know to run something on a host. */
export interface LabHostAccess {
  readonly name: string;
  /** Of the process that holds its namespaces, as the machine counts. */
  readonly pid: number;
  readonly machine: MachineAccess;
}

/** A host of the lab: network, processes, files below /run, /var, /tmp and /etc/frr are its own; everything else is the machine's. */
export class LabHost {
  readonly access: LabHostAccess;
  readonly #machine: Machine;

  constructor(access: LabHostAccess, machine = new Machine(access.machine)) {
    this.access = access;
    this.#machine = machine;
  }

  /** It lasts as long as the calling process, or until its machine is stopped. */
  static async start(machine: Machine, name: string, keep: readonly string[], signal: AbortSignal): Promise<LabHost> {
    const namespaces = ["--net", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc"];
    const holder = machine.start(["sh", "-c", 'echo $$; exec "$@"', "sh", "unshare", ...namespaces, "--", SCRIPT, name, CHECKOUT, ...keep]);
    const output = new PassThrough();
    holder.onOutput = (chunk) => output.write(chunk);
    let errors = "";
    holder.onErrors = (chunk) => (errors += chunk.toString());
    void holder.ended.finally(() => output.end()).catch(() => undefined);
    const onAbort = () => void holder.kill();
    signal.addEventListener("abort", onAbort, { once: true });

    let pid = 0;
    for await (const line of createInterface({ input: output })) {
      if (pid === 0) pid = Number(line);
      else if (line === "ready") {
        signal.removeEventListener("abort", onAbort);
        return new LabHost({ name, pid, machine: machine.access }, machine);
      }
    }
    signal.throwIfAborted();
    throw new LabError("NotStarted", `The lab's ${name} did not come up:\n${errors.trim()}`);
  }

  get name(): string {
    return this.access.name;
  }

  run(command: readonly string[], options: CommandOptions & { input?: string } = {}): Promise<ExecOutcome> {
    return this.#machine.run(this.#enter(command), options);
  }

  do(command: readonly string[], options: CommandOptions & { input?: string } = {}): Promise<string> {
    return this.#machine.do(this.#enter(command), options);
  }

  start(command: readonly string[], options: CommandOptions = {}): RemoteProcess {
    return this.#machine.start(this.#enter(command), options);
  }

  /** Runs lines of `ip` in one process. */
  async ip(lines: readonly string[]): Promise<void> {
    await this.do(["ip", "-batch", "-"], { input: `${lines.join("\n")}\n` });
  }

  #enter(command: readonly string[]): string[] {
    const { pid } = this.access;
    return ["nsenter", `--target=${pid}`, "--net", "--mount", "--uts", `--pid=/proc/${pid}/ns/pid_for_children`, "--", ...command];
  }
}
