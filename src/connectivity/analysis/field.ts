import type { Said } from "./check-result.ts";

/** How the checks of one field of a matrix stand. */
export interface Field {
  readonly reached: number;
  readonly failed: number;
  /** Those of the failed that found no address for the name. */
  readonly lookups: number;
  readonly unknown: number;
}

export function fieldOf({ verdict, reason }: Said): Field {
  const failed = verdict === "failed" ? 1 : 0;
  return {
    reached: verdict === "reached" ? 1 : 0,
    failed,
    lookups: reason === "DNSError" ? failed : 0,
    unknown: verdict === "unknown" ? 1 : 0,
  };
}

export function sum(one: Field | undefined, other: Field): Field {
  if (!one) return other;
  return {
    reached: one.reached + other.reached,
    failed: one.failed + other.failed,
    lookups: one.lookups + other.lookups,
    unknown: one.unknown + other.unknown,
  };
}
