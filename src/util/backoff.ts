export interface BackoffRange {
  minMs: number;
  maxMs: number;
}

/**
 * How many milliseconds to wait after `failures` failures in a row (from 1), doubling within the range. The upper half of each step is left to chance, so that
 * those who failed together do not come back together.
 */
export function backoffMs(failures: number, { minMs, maxMs }: BackoffRange): number {
  const step = Math.min(maxMs, minMs * 2 ** failures);
  return Math.round(step * (0.5 + Math.random() / 2));
}
