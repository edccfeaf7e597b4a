import { readdir, readFile } from "node:fs/promises";
import type { RouterLab } from "../../lab/cli/router-lab.ts";

interface Times {
  readonly ran: bigint;
  readonly waited: bigint;
}

/**
 * The share of the time that User-Mode Linux takes for its own that it really had. While this machine runs other processes the clock inside goes on, and
 * whoever ran inside is charged for it.
 */
export class HostShare {
  readonly #lab: Lab;
  readonly #before: ReadonlyMap<string, Times>;

  private constructor(lab: Lab, before: ReadonlyMap<string, Times>) {
    this.#lab = lab;
    this.#before = before;
  }

  static async begin(lab: Lab): Promise<HostShare> {
    return new HostShare(lab, await timesOf(lab));
  }

  /** Since `begin`; 1 where the lab runs on this machine's own kernel. */
  async sinceThen(): Promise<number> {
    if (this.#lab.kernel.own) return 1;
    let [ran, waited] = [0n, 0n];
    for (const [pid, after] of await timesOf(this.#lab)) {
      const before = this.#before.get(pid) ?? { ran: 0n, waited: 0n };
      ran += after.ran - before.ran;
      waited += after.waited - before.waited;
    }
    return Number(ran) / Number(ran + waited);
  }
}

type Lab = Pick<RouterLab, "directory" | "kernel">;

/** Of the processes of its User-Mode Linux. schedstat: nanoseconds on a CPU, and nanoseconds of waiting for one. */
async function timesOf({ directory, kernel: { own } }: Lab): Promise<Map<string, Times>> {
  const times = new Map<string, Times>();
  if (own) return times;
  const processes = await Promise.all((await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(readProcess));
  const kernel = processes.find(
    ({ command }) => command[1] === "root=/dev/root" && command.some((argument) => argument.includes(directory)),
  );
  if (!kernel) throw new Error("The lab's User-Mode Linux is not found among the processes of this machine");
  // What runs inside runs in its children.
  for (const { pid, parent, schedstat } of processes) {
    if (pid !== kernel.pid && parent !== kernel.pid) continue;
    const [ran = "0", waited = "0"] = schedstat.split(" ");
    times.set(pid, { ran: BigInt(ran), waited: BigInt(waited) });
  }
  return times;
}

/** With nothing in it when it has ended. */
async function readProcess(pid: string): Promise<{ pid: string; command: string[]; parent: string | undefined; schedstat: string }> {
  const read = (file: string) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
  const [command, status, schedstat] = await Promise.all([read("cmdline"), read("status"), read("schedstat")]);
  return { pid, command: command.split("\0"), parent: /^PPid:\s+(\d+)$/m.exec(status)?.[1], schedstat: schedstat || "0 0" };
}
