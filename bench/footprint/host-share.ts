import { readdir, readFile } from "node:fs/promises";

interface Times {
  readonly ran: bigint;
  readonly waited: bigint;
}

/**
 * Which share of the time that User-Mode Linux holds to be its own it really had. When this machine lets other processes run instead, the clock inside goes on,
 * and whoever was at work inside is charged for it.
 */
export class HostShare {
  readonly #directory: string;
  readonly #before: ReadonlyMap<string, Times>;

  private constructor(directory: string, before: ReadonlyMap<string, Times>) {
    this.#directory = directory;
    this.#before = before;
  }

  /** Of the machine whose lab has this directory. */
  static async begin(directory: string): Promise<HostShare> {
    return new HostShare(directory, await timesOf(directory));
  }

  /** Since `begin`; 1 where the lab runs on this machine's own kernel. */
  async sinceThen(): Promise<number> {
    let [ran, waited] = [0n, 0n];
    for (const [pid, after] of await timesOf(this.#directory)) {
      const before = this.#before.get(pid) ?? { ran: 0n, waited: 0n };
      ran += after.ran - before.ran;
      waited += after.waited - before.waited;
    }
    return ran + waited === 0n ? 1 : Number(ran) / Number(ran + waited);
  }
}

/** schedstat: nanoseconds on a CPU, and nanoseconds of waiting for one. */
async function timesOf(directory: string): Promise<Map<string, Times>> {
  const times = new Map<string, Times>();
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (!command.startsWith("linux.uml") || !command.includes(directory)) continue;
    const [ran = "0", waited = "0"] = (await readFile(`/proc/${pid}/schedstat`, "utf8").catch(() => "")).split(" ");
    times.set(pid, { ran: BigInt(ran), waited: BigInt(waited) });
  }
  return times;
}
