/** Waits, or less if the signal aborts meanwhile. What lies in the past needs no waiting. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, Math.max(0, ms));
    if (signal.aborted) return end();
    signal.addEventListener("abort", end);
  });
}
