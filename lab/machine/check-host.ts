import { existsSync } from "node:fs";
import { readFile, statfs } from "node:fs/promises";
import { LabError } from "../error.ts";

const GB = 2 ** 30;

/** In GB. */
interface MemoryDemand {
  /** Of a User-Mode Linux, which has its memory in a file. */
  readonly machineGb: number;
  /** Of what runs beside it. */
  readonly besideGb: number;
}

/** In bytes. */
interface FreeMemory {
  readonly available: number;
  /** Where User-Mode Linux has its file. */
  readonly inFiles: { readonly path: string; readonly free: number };
}

/** Problems that User-Mode Linux itself would report in words that explain nothing. */
export async function checkHost(demand: MemoryDemand): Promise<void> {
  if (demand.machineGb > 0 && !existsSync("/dev/net/tun"))
    throw new LabError("NotStarted", "The lab needs a tap device and /dev/net/tun is missing: load the kernel module tun (modprobe tun)");
  const problem = missingMemory(demand, await freeMemory());
  if (problem !== undefined) throw new LabError("NotStarted", problem);
}

/** What is too small, and what to do. */
export function missingMemory({ machineGb, besideGb }: MemoryDemand, { available, inFiles }: FreeMemory): string | undefined {
  const [scarcest] = [
    { has: "this machine has", gb: machineGb + besideGb, free: available },
    { has: `${inFiles.path} has`, gb: machineGb, free: inFiles.free },
  ]
    .filter(({ gb, free }) => free < gb * GB)
    .toSorted((one, other) => one.free - other.free);
  if (!scarcest) return undefined;
  const { has, gb, free } = scarcest;
  return `The lab needs ${gb} GB of memory and ${has} ${(free / GB).toFixed(1)} GB free: end other programs, or use a larger machine`;
}

async function freeMemory(): Promise<FreeMemory> {
  const path = existsSync("/dev/shm") ? "/dev/shm" : "/tmp";
  const { bavail, bsize } = await statfs(path);
  const available = Number(/^MemAvailable:\s+(\d+)/m.exec(await readFile("/proc/meminfo", "utf8"))?.[1]) * 1024;
  return { available, inFiles: { path, free: bavail * bsize } };
}
