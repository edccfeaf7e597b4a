import { withDeadline, type Task } from "../../util/deadline.ts";
import { Stalls } from "./event-loop-stalls.ts";

interface Timed<T, R> {
  readonly task: T;
  /** `late` at the deadline; `stalled` where the process itself stood still for so long that this says nothing. */
  readonly result: R | "late" | "stalled";
  /** When it began, by the clock on the wall. */
  readonly at: number;
  readonly latencyMs: number;
}

const stalls = new Stalls();

/** Starts a task, and waits for it until its deadline. Throws the signal's reason when that comes first. */
export async function timed<R, T extends Task<R>>(start: () => T & Task<R>, ms: number, signal: AbortSignal): Promise<Timed<T, R>> {
  const at = Date.now();
  const began = performance.now();
  const stalled = stalls.watch();
  try {
    const task = start();
    const result = await withDeadline<R>(task, ms, signal);
    const latencyMs = performance.now() - began;
    // With half of the time left, a SYN was sent twice and nobody answered either.
    return { task, result: result === "late" && stalled.ms() > ms / 2 ? "stalled" : result, at, latencyMs };
  } finally {
    stalled.end();
  }
}
