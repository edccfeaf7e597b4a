import { readFileSync, readlinkSync } from "node:fs";

/** A process that something of the lab lives in. */
export interface Holder {
  readonly pid: number;
  /** The kernel's start time of that pid: a pid alone may by now be someone else's. */
  readonly since: string;
}

/** The environment variable that tells to which holder a process of the lab belongs. */
export const HOLDER_VARIABLE = "PLUMBLINE_LAB_HOLDER";

/**
 * Names a process in what it leaves outside of itself: directories, links, the environment of its children. `1234.567890.4026531836` is its pid, its start
 * time and its process namespace.
 */
export function holderId(pid = process.pid): string {
  return `${pid}.${startTime(pid) ?? "0"}.${processNamespace()}`;
}

export const HOLDER_ID = String.raw`\d+\.\d+\.\d+`;

/** Whether this holder has ended. Of one in another process namespace that is not known. */
export function isGone(id: string): boolean {
  const [pid, since, namespace] = id.split(".");
  return namespace === processNamespace() && startTime(Number(pid)) !== since;
}

export function isAlive({ pid, since }: Holder): boolean {
  return startTime(pid) === since;
}

/** Undefined: no such process, or one that has ended and only waits for its parent to notice. */
export function startTime(pid: number): string | undefined {
  try {
    // The program's name is in brackets and may contain spaces; the state is the first field after it, the start time the twentieth.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return /^[ZX]$/.test(fields[0] ?? "") ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function processNamespace(): string {
  return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
}
