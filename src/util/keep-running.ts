import { backoffMs } from "./backoff.ts";
import { pause } from "./sleep.ts";

const BACKOFF = { minMs: 100, maxMs: 30_000 };
/** After this long the start counts as successful. */
const STABLE_MS = 10_000;

/** Restarts it whenever it ends, with a backoff if it ends soon. `onEnd` gets the result, except after an abort. */
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
