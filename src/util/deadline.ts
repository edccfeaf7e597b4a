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
