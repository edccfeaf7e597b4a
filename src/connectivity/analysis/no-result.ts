import type { CheckResult } from "./check-result.ts";
import { capitalize, distinct, joinList, sourceLabel, targetLabel } from "./labels.ts";
import { plural } from "../../util/text.ts";

/** Why some checks have no result, one sentence per reason. */
export interface NoResultGroup {
  readonly reason: string;
  readonly checks: readonly CheckResult[];
  readonly sentence: string;
}

export function noResultGroups(all: readonly CheckResult[]): NoResultGroup[] {
  const unknown = all.filter(({ verdict }) => verdict === "unknown");
  const groups = [
    ...Map.groupBy(unknown, ({ reason, message }) =>
      reason === "Stale" || reason === "NoResultYet" ? reason : `${reason} ${message}`,
    ).values(),
  ];
  return groups
    .map((checks) => ({ reason: checks[0]?.reason ?? "", checks, sentence: sentence(checks) }))
    .toSorted((one, other) => other.checks.length - one.checks.length);
}

function sentence(checks: readonly CheckResult[]): string {
  const [first] = checks;
  const many = plural(checks.length, "check");
  const sources = distinct(checks.map(({ source }) => sourceLabel(source)));
  if (first?.reason === "Stale")
    return `${capitalize(joinList(sources))} no longer ${sources.length === 1 ? "reports" : "report"} (${many}): the results are unknown`;
  if (first?.reason === "NoResultYet") return `${many} of ${joinList(sources)} ${checks.length === 1 ? "has" : "have"} no result yet`;
  return `${many} ${checks.length === 1 ? "does" : "do"} not run, ${joinList(checks.map(({ check }) => check))}: ${first?.message ?? ""}`;
}

/** Targets that are reached at some addresses only, one sentence per combination. */
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
