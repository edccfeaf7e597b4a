import type { Said } from "./check-result.ts";
import { capital, distinct, listed, sourceLabel } from "./labels.ts";

/** Why some checks tell nothing, one sentence for each reason. */
export interface Silence {
  readonly reason: string;
  readonly checks: readonly Said[];
  readonly sentence: string;
}

export function silences(all: readonly Said[]): Silence[] {
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

function sentence(checks: readonly Said[]): string {
  const [first] = checks;
  const many = checks.length === 1 ? "1 check" : `${checks.length} checks`;
  const sources = distinct(checks.map(({ source }) => sourceLabel(source)));
  if (first?.reason === "Stale")
    return `${capital(listed(sources))} ${sources.length === 1 ? "tells" : "tell"} nothing any more (${many}): what ${sources.length === 1 ? "it reaches" : "they reach"} is not known`;
  if (first?.reason === "NoResultYet") return `${many} of ${listed(sources)} ${checks.length === 1 ? "has" : "have"} no result yet`;
  return `${many} ${checks.length === 1 ? "is" : "are"} not tried, ${listed(checks.map(({ check }) => check))}: ${first?.message ?? ""}`;
}
