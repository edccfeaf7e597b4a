export interface Report {
  msPerGet: number;
  rssMiB: number;
}

const WARM_UP = 50;
const GETS = 500;

/** Asks for the same object time and again, one request after the other, and says what that took. */
export async function reportOn(get: () => Promise<{ metadata?: { name?: string } }>): Promise<void> {
  for (let n = 0; n < WARM_UP; n++) await get();
  const start = performance.now();
  for (let n = 0; n < GETS; n++) await get();
  const msPerGet = (performance.now() - start) / GETS;
  globalThis.gc?.();
  const report: Report = { msPerGet, rssMiB: process.memoryUsage.rss() / 2 ** 20 };
  process.send?.(report);
}
