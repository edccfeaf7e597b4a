import type { CheckResult } from "./check-result.ts";
import { distinct, sourceLabel, targetLabel } from "./labels.ts";

/** Targets that are reached at some of their addresses only, one sentence for each way in which that is so. Nothing is unreachable, and yet not all is well. */
export function partiallyReachable(all: readonly CheckResult[]): string[] {
  const some = all.filter(({ isPartial }) => isPartial);
  const groups = Map.groupBy(some, ({ target, message }) => `${target.endpoint} ${message}`);
  return Array.from(groups.values(), (checks) => {
    const [first] = checks;
    const sources = distinct(checks.map(({ source }) => sourceLabel(source)));
    const from = sources.length === 1 ? (sources[0] ?? "") : `${sources.length} sources`;
    return first ? `${targetLabel(first.target)} is only partly reachable from ${from}: ${first.message}` : "";
  });
}
