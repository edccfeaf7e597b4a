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

const NEVER = new AbortController().signal;

/** Throws `late` after `ms`, and the signal's reason if it aborts first, also if the work ignores its own signal. */
export async function limitTime<V>(
  { ms, late, signal = NEVER }: { ms: number; late: () => Error; signal?: AbortSignal },
  work: (signal: AbortSignal) => V | Promise<V>,
): Promise<V> {
  signal.throwIfAborted();
  // By hand: a long-lived signal would keep every AbortSignal.any that it was part of.
  const limited = new AbortController();
  const onAbort = () => limited.abort(signal.reason);
  signal.addEventListener("abort", onAbort);
  const timer = setTimeout(() => limited.abort(late()), Math.max(0, ms));
  try {
    return await untilAborted(Promise.try(work, limited.signal), limited.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Running work that can be canceled. */
export interface Task<R> {
  readonly result: Promise<R>;
  cancel(): void;
}

/** The result or `late`; throws the signal's reason if it aborts first. */
export function withDeadline<R>(task: Task<R>, ms: number, signal: AbortSignal): Promise<R | "late"> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      clearImmediate(lastCheck);
      signal.removeEventListener("abort", onAbort);
    };
    const giveUp = (): void => {
      end();
      task.cancel();
    };
    const onAbort = (): void => {
      giveUp();
      reject(signal.reason as Error);
    };
    let lastCheck: NodeJS.Immediate | undefined;
    const timer = setTimeout(() => {
      // After the process was blocked, timers run before I/O, where the result may be waiting.
      lastCheck = setImmediate(() => {
        giveUp();
        resolve("late");
      });
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
    task.result.then(
      (result) => {
        end();
        resolve(result);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
    if (signal.aborted) onAbort();
  });
}
