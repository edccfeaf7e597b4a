import { withDeadline, type Task } from "../../util/deadline.ts";
import { Stalls } from "./event-loop-stalls.ts";

interface Timed<T, R> {
  readonly task: T;
  /** `late` after the deadline; `stalled` if the process itself was blocked for so long that the result is void. */
  readonly result: R | "late" | "stalled";
  /** Wall clock at the start. */
  readonly at: number;
  readonly latencyMs: number;
}

const stalls = new Stalls();

/** Waits for a task until its deadline. Throws the signal's reason if it aborts first. */
export async function timed<R, T extends Task<R>>(start: () => T & Task<R>, ms: number, signal: AbortSignal): Promise<Timed<T, R>> {
  const at = Date.now();
  const began = performance.now();
  const stalled = stalls.watch();
  try {
    const task = start();
    const result = await withDeadline<R>(task, ms, signal);
    const latencyMs = performance.now() - began;
    // In half of the time a SYN is sent twice.
    return { task, result: result === "late" && stalled.ms() > ms / 2 ? "stalled" : result, at, latencyMs };
  } finally {
    stalled.end();
  }
}
