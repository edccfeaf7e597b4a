import { untilAborted } from "./sleep.ts";

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Whether the work ended in time; it continues if not. */
export async function finishesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(resolve, ms, false)));
  return await Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer));
}

/** Throws if it takes longer, also if the work ignores the aborted signal. */
export async function earliest<V>(ms: number, why: string, work: (signal: AbortSignal) => V | Promise<V>): Promise<V> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(why)), ms);
  try {
    return await untilAborted(Promise.try(work, late.signal), late.signal);
  } finally {
    clearTimeout(timer);
  }
}
