export interface BackoffRange {
  minMs: number;
  maxMs: number;
}

/**
 * Milliseconds to wait after `failures` consecutive failures (from 1), doubling within the range. Half of it is random, so that clients
 * that failed together do not retry together.
 */
export function backoffMs(failures: number, { minMs, maxMs }: BackoffRange): number {
  const step = Math.min(maxMs, minMs * 2 ** failures);
  return Math.round(step * (0.5 + Math.random() / 2));
}
