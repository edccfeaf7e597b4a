import type { LabHost } from "../../lab/net/lab-host.ts";

/** A program on a host of the lab, and what it costs there. */
export class Watched implements AsyncDisposable {
  readonly #host: LabHost;
  readonly #kill: () => Promise<void>;
  readonly pid: number;
  readonly #output: () => string;

  private constructor(host: LabHost, pid: number, kill: () => Promise<void>, output: () => string) {
    this.#host = host;
    this.pid = pid;
    this.#kill = kill;
    this.#output = output;
  }

  static async start(host: LabHost, command: readonly string[]): Promise<Watched> {
    const process = host.start(["sh", "-c", 'echo $$; exec "$@"', "sh", ...command]);
    const { promise: first, resolve, reject } = Promise.withResolvers<string>();
    let output = "";
    process.onOutput = (chunk) => resolve((output += chunk.toString()));
    process.onErrors = (chunk) => (output += chunk.toString());
    process.ended.then(() => reject(new Error(`${command.join(" ")} ended: ${output}`)), reject);
    return new Watched(
      host,
      Number.parseInt(await first),
      () => process.kill(),
      () => output,
    );
  }

  /** CPU time of it and of all it started, those that have ended included. */
  async cpuMs(): Promise<number> {
    const processes = (await this.#host.run(["sh", "-c", "cat /proc/[0-9]*/stat"])).stdout.trim().split("\n").map(parseStat);
    const own = processes.find(({ pid }) => pid === this.pid);
    if (!own) throw new Error(`It has ended: ${this.#output().slice(-500)}`);
    const children = processes.filter(({ parent }) => parent === this.pid);
    return [own, ...children].reduce((sum, { ticks }) => sum + ticks, 0) * TICK_MS;
  }

  async residentMiB(): Promise<number> {
    const status = await this.#host.do(["cat", `/proc/${this.pid}/status`]);
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#kill();
  }
}

const TICK_MS = 10;

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

/** proc(5): after the name, which may hold anything, come the state, the parent and so on; 14 to 17 are utime, stime, cutime and cstime. */
function parseStat(line: string): Stat {
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { pid: Number.parseInt(line), parent: Number(fields[1]), ticks };
}
