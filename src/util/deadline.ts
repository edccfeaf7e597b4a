/** Work under way that can be given up. */
export interface Task<R> {
  readonly result: Promise<R>;
  /** Nobody waits for the result any more. */
  cancel(): void;
}

/** What the task comes to, or `late`; throws the signal's reason when that comes first. */
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
      // After a standstill timers run before anything is read from the kernel, where the result may lie for long.
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
