import { backoffMs } from "./backoff.ts";
import { pause } from "./sleep.ts";

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
    await pause(backoffMs(failures - 1, BACKOFF), signal);
  }
}
