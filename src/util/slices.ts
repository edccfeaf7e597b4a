import { setImmediate } from "node:timers/promises";

/** Longer than this nobody else is kept waiting. */
const SLICE_MS = 8;

/** Goes through the steps and lets everything else have its turn in between. */
export async function runInSlices<S, T>(steps: Generator<S, T>, signal: AbortSignal, onStep?: (step: S) => void): Promise<T> {
  let started = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    onStep?.(step.value);
    if (performance.now() - started < SLICE_MS) continue;
    await setImmediate(undefined, { signal });
    started = performance.now();
  }
}
