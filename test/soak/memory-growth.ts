/** How much memory a process had at a moment. */
export interface Resident {
  readonly atMs: number;
  readonly mib: number;
}

const WARM_MS = 60_000;
const LEAST_SAMPLES = 6;
/** A heap comes and goes; one that leaks passes any bound in time. */
const ALLOWED = { times: 1.25, mib: 12 };

/** What is wrong with the memory of one process once it is warm: that its last third needs more than its first. */
export function growthOf(samples: readonly Resident[]): string | undefined {
  const began = samples[0]?.atMs ?? 0;
  const warm = samples.filter(({ atMs }) => atMs - began >= WARM_MS).map(({ mib }) => mib);
  if (warm.length < LEAST_SAMPLES) return undefined;
  const third = Math.floor(warm.length / 3);
  const [first, last] = [median(warm.slice(0, third)), median(warm.slice(-third))];
  return last > first * ALLOWED.times + ALLOWED.mib ? `grew from ${first.toFixed(0)} to ${last.toFixed(0)} MiB` : undefined;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
