import { sleep } from "../../util/sleep.ts";
import type { Log } from "../../kube/log.ts";

export interface Restorable {
  /** Restores the last applied state without the cluster. Stops when the cluster has been `read`: then the normal pass does the rest. */
  restore(signal: AbortSignal, read: AbortSignal): Promise<void>;
}

interface Options {
  /** How long to wait for the cluster; 0 if the API server is known to be away. */
  afterMs: number;
  /** Aborts when all caches have been read once. */
  read: AbortSignal;
  log: Log;
}

/** Nothing can be decided before every cache has been read, so a partly answering API server counts as away. */
export async function restoreUnlessRead(parts: readonly Restorable[], { afterMs, read, log }: Options, signal: AbortSignal): Promise<void> {
  const either = AbortSignal.any([signal, read]);
  if (afterMs > 0) await sleep(afterMs, either).catch(() => undefined);
  if (either.aborted) return;
  log.warn({ afterMs }, "cannot read the cluster; restoring the last applied state");
  await Promise.all(parts.map((part) => restore(part, read, log, signal)));
}

async function restore(part: Restorable, read: AbortSignal, log: Log, signal: AbortSignal): Promise<void> {
  try {
    await part.restore(signal, read);
  } catch (error) {
    if (!signal.aborted) log.error({ error }, "cannot restore the last applied state without the API server");
  }
}
