import { setImmediate } from "node:timers/promises";

const NEVER = new AbortController().signal;

/** Throws the signal's reason if it aborts first. */
export function sleep(ms: number, signal = NEVER): Promise<void> {
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

/** Resolves early when aborted or woken. */
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

/** Throws the signal's reason if it aborts first. The work continues. */
export function untilAborted<R>(promise: Promise<R>, signal: AbortSignal): Promise<R> {
  if (signal.aborted) {
    // A later failure of the work must not be an unhandled rejection, which ends the process.
    promise.catch(() => {});
    return Promise.reject(signal.reason as Error);
  }
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** The maximum time without a pause. */
const SLICE_MS = 8;

/** Runs the steps with pauses for other work. */
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
