import { copyFile, stat, truncate } from "node:fs/promises";
import { pause } from "../util/sleep.ts";

/** Per file; with its copy, a daemon has twice as much. */
const MAX_BYTES = 10 * 1024 * 1024;
const CHECK_EVERY_MS = 10_000;

/** Bounds the size of logs. An error is reported once, until it is over. */
export async function boundLogs(
  paths: readonly string[],
  onError: (path: string, error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  const failing = new Set<string>();
  while (!signal.aborted) {
    for (const path of paths) {
      try {
        await emptyIfLarge(path, MAX_BYTES);
        failing.delete(path);
      } catch (error) {
        if (!failing.has(path)) onError(path, error);
        failing.add(path);
      }
    }
    await pause(CHECK_EVERY_MS * (0.9 + Math.random() / 5), signal);
  }
}

/**
 * Copies a large log to `<path>.1` and truncates it. It is not renamed, because FRR does not reopen a log from its command line on SIGUSR1;
 * it appends, so it continues at the new end.
 */
export async function emptyIfLarge(path: string, maxBytes: number): Promise<void> {
  const { size } = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return { size: 0 };
    throw error;
  });
  if (size <= maxBytes) return;
  await copyFile(path, `${path}.1`);
  await truncate(path);
}
