export interface Report {
  msPerGet: number;
  rssMiB: number;
}

const [warmUp = 0, gets = 0] = process.argv.slice(5).map(Number);

/** Reads the same object many times, one request after the other, and reports what that took. The counts are the last arguments. */
export async function reportOn(get: () => Promise<{ metadata?: { name?: string } }>): Promise<void> {
  for (let n = 0; n < warmUp; n++) await get();
  const start = performance.now();
  for (let n = 0; n < gets; n++) await get();
  const msPerGet = (performance.now() - start) / gets;
  globalThis.gc?.();
  const report: Report = { msPerGet, rssMiB: process.memoryUsage.rss() / 2 ** 20 };
  process.send?.(report);
}
