import type { Said } from "./check-result.ts";
import { distinct, sourceLabel, targetLabel } from "./labels.ts";

/** Targets that are reached at some of their addresses only, one sentence for each way in which that is so. Nothing is unreachable, and yet not all is well. */
export function partly(all: readonly Said[]): string[] {
  const some = all.filter(({ verdict, message }) => verdict === "reached" && /^\d+ of \d+ addresses failed/.test(message));
  const groups = Map.groupBy(some, ({ target, message }) => `${target.endpoint} ${message}`);
  return Array.from(groups.values(), (checks) => {
    const [first] = checks;
    const sources = distinct(checks.map(({ source }) => sourceLabel(source)));
    const from = sources.length === 1 ? (sources[0] ?? "") : `${sources.length} sources`;
    return first ? `${targetLabel(first.target)} is reached, but not at all of its addresses, from ${from}: ${first.message}` : "";
  });
}
