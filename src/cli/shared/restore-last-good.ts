import { pause } from "../../util/sleep.ts";
import type { Log } from "../../kube/log.ts";

export interface Restorable {
  /** Sets up what was live last, without a word from the cluster; whatever is not done when that is `read` is left to those who know better. */
  restore(signal: AbortSignal, read: AbortSignal): Promise<void>;
}

interface Options {
  /** How long the cluster may take; 0 where nobody answers anyway. */
  afterMs: number;
  /** Aborts when all that is to be known of the cluster has been read once. */
  read: AbortSignal;
  log: Log;
}

/** An API server that answers half of the questions is as good as none: nothing can be decided before all of it has been read. */
export async function restoreUnlessRead(parts: readonly Restorable[], { afterMs, read, log }: Options, signal: AbortSignal): Promise<void> {
  const either = AbortSignal.any([signal, read]);
  if (afterMs > 0) await pause(afterMs, either).catch(() => undefined);
  if (either.aborted) return;
  log.warn({ afterMs }, "the cluster cannot be read; what was live last is set up");
  await Promise.all(parts.map((part) => restore(part, read, log, signal)));
}

async function restore(part: Restorable, read: AbortSignal, log: Log, signal: AbortSignal): Promise<void> {
  try {
    await part.restore(signal, read);
  } catch (error) {
    if (!signal.aborted) log.error({ error }, "what was live last cannot be set up without the API server");
  }
}
