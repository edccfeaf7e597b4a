import { setImmediate } from "node:timers/promises";

/** Waits; throws the signal's reason when it aborts first. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Ends early when aborted, or when woken. */
export function pause(ms: number, signal: AbortSignal, onWake: (wake: () => void) => () => void = () => () => {}): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      letSleep();
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    const letSleep = onWake(done);
  });
}

/** What the promise comes to; throws the signal's reason when it aborts first. The work goes on, only the waiting is over. */
export function untilAborted<R>(promise: Promise<R>, signal: AbortSignal): Promise<R> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

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
