const BACKOFF = { minMs: 100, maxMs: 30_000 };
/** What has run this long had not failed to start. */
const STABLE_MS = 10_000;

/** Starts it again whenever it has ended, later each time that it ends soon. `onEnd` is given what it ended with, but not when that was asked for. */
export async function keepRunning<End>(start: () => Promise<End>, signal: AbortSignal, onEnd?: (end: End) => void): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const started = performance.now();
    const end = await start();
    if (signal.aborted) return;
    failures = performance.now() - started > STABLE_MS ? 1 : failures + 1;
    onEnd?.(end);
    await pause(backoffMs(failures), signal);
  }
}

/** Half of each step is left to chance, so that the watches of two namespaces do not come back together. */
function backoffMs(failures: number): number {
  const step = Math.min(BACKOFF.maxMs, BACKOFF.minMs * 2 ** (failures - 1));
  return Math.round(step * (0.5 + Math.random() / 2));
}

/** Returns early when aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
