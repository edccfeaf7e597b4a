import { compare } from "../../util/compare.ts";
import type { Claim } from "../../resilience/claim.ts";
import { resolveConflicts } from "../../resilience/resolve-conflicts.ts";
import type { ConfigFailure, Loaded, LastGoodEntry } from "./load.ts";
import type { ConfigProblem, ParseResult } from "./field-error.ts";
import { RULES, type RuleId } from "./rules.ts";
import type { ConfigCandidate } from "./candidates.ts";

type Outcome = Loaded["resources"][number];

export interface Resolved<S, T> {
  /** The effective values, sorted by name. */
  readonly values: ReadonlyMap<string, T>;
  /** Those that are effective in their current version. */
  readonly current: ReadonlySet<ConfigCandidate<S, T>>;
  readonly failures: readonly ConfigFailure[];
  readonly resources: readonly Outcome[];
  readonly remember: readonly (readonly [string, LastGoodEntry])[];
}

interface Conflicts<S, T> {
  readonly rule: RuleId;
  message(own: Claim, other: Claim, loser: ConfigCandidate<S, T>): string;
}

/** Selects the effective candidates, each in its current or last good version; on conflict the older claim wins. */
export function resolveKind<S, T>(candidates: readonly ConfigCandidate<S, T>[], now: Date, conflicts?: Conflicts<S, T>): Resolved<S, T> {
  const { effective, failures } = resolveConflicts<ParseResult<T>, ConfigCandidate<S, T>>(candidates, {
    check: (reading, candidate) => reading.problems.map((problem) => failureOf(candidate, problem)),
    claims: ({ claims }) => claims,
    kindOrder: [],
    now,
    ...(conflicts && { conflictMessage: (own, other, loser) => conflicts.message(own, other, loser) }),
  });

  const byName = effective.toSorted((a, b) => compare(a.resource.name, b.resource.name));
  const generations = new Map(candidates.map(({ name, generation }) => [name, generation]));
  const versions = new Map(effective.map(({ resource, version }) => [resource, version]));
  const known = new Set<string>();
  return {
    values: new Map(byName.flatMap(({ resource, spec }) => (spec.value === undefined ? [] : [[resource.name, spec.value] as const]))),
    current: new Set(effective.filter(({ version }) => version === "current").map(({ resource }) => resource)),
    failures: failures.map((failure) =>
      isOurs(failure) ? failure : ruled(failure, conflicts?.rule ?? "F2", generations.get(failure.name) ?? 0),
    ),
    resources: candidates.flatMap((candidate): Outcome[] => {
      const { kind, name, generation } = candidate;
      // The first of two with one name counts.
      if (known.has(name)) return [];
      known.add(name);
      const version = versions.get(candidate);
      return [{ kind, name, generation, state: version === undefined ? "Failed" : version === "current" ? "Applied" : "KeptPrevious" }];
    }),
    remember: candidates.flatMap((candidate) => remembered(candidate, versions.get(candidate))),
  };
}

function remembered<S, T>(candidate: ConfigCandidate<S, T>, version: "current" | "kept" | undefined): [string, LastGoodEntry][] {
  const { key, uid, generation, written, spec, before } = candidate;
  const since = before?.since === undefined ? {} : { since: before.since };
  if (version === "current") {
    const { resolved } = spec;
    return [[key, { uid, generation, spec: { spec: written, ...(resolved !== undefined && { resolved }) }, ...since }]];
  }
  if (version === "kept" && before) return [[key, before]];
  return before?.since === undefined ? [] : [[key, { uid, generation, ...since }]];
}

export function failureOf(
  { kind, name, namespace, generation }: Pick<ConfigCandidate<unknown, unknown>, "kind" | "name" | "namespace" | "generation">,
  { rule, field, message }: ConfigProblem,
): ConfigFailure {
  return ruled({ kind, name, namespace, field, message }, rule, generation);
}

function ruled(
  failure: Pick<ConfigFailure, "kind" | "name" | "namespace" | "field" | "message">,
  rule: RuleId,
  generation: number,
): ConfigFailure {
  const { kind, name, namespace, field, message } = failure;
  const reason = RULES[rule].class === "Transient" ? "DependencyFailed" : "ValidationFailed";
  return { kind, name, namespace, reason, field, message, class: RULES[rule].class, rule, generation };
}

function isOurs(failure: object): failure is ConfigFailure {
  return "rule" in failure;
}
