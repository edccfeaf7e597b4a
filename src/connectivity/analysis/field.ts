import type { CheckResult } from "./check-result.ts";

/** How the checks of one field of a matrix stand. */
export interface MatrixField {
  readonly reached: number;
  readonly failed: number;
  /** Those of the failed that found no address for the name. */
  readonly lookups: number;
  readonly unknown: number;
}

export function fieldOf({ verdict, reason }: CheckResult): MatrixField {
  const failed = verdict === "failed" ? 1 : 0;
  return {
    reached: verdict === "reached" ? 1 : 0,
    failed,
    lookups: reason === "DNSError" ? failed : 0,
    unknown: verdict === "unknown" ? 1 : 0,
  };
}

export function sum(one: MatrixField | undefined, other: MatrixField): MatrixField {
  if (!one) return other;
  return {
    reached: one.reached + other.reached,
    failed: one.failed + other.failed,
    lookups: one.lookups + other.lookups,
    unknown: one.unknown + other.unknown,
  };
}
