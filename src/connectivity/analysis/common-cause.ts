import type { CheckResult } from "./check-result.ts";
import { type Hypothesis, causesOf, keyOfCause, rankOf, contradicts } from "./hypotheses.ts";
import { describeGroup, describeCause } from "./describe.ts";

export interface CommonCause {
  /** All conclusive checks of it fail. Unset if some of it works. */
  readonly cause?: Hypothesis;
  /** Hypotheses that the existing checks cannot distinguish from it. */
  readonly couldBe: readonly Hypothesis[];
  /** The failing checks that it explains, including those that an earlier one explains. */
  readonly failing: readonly CheckResult[];
  readonly sentence: string;
}

interface Suspect {
  readonly cause: Hypothesis;
  readonly rank: number;
  /** Indexes of failing checks. */
  readonly victims: number[];
}

/** As few causes as explain all failing checks; the one that explains most comes first. */
export function commonCauses(all: readonly CheckResult[]): CommonCause[] {
  const failing = all.filter(({ verdict }) => verdict === "failed").toSorted((one, other) => (one.check < other.check ? -1 : 1));
  if (failing.length === 0) return [];
  const suspects = suspectsOf(failing, all);
  const twins = Map.groupBy(suspects, victimsKey);
  const remaining = new Set(failing.keys());

  const named = ({ cause, victims }: Suspect): CommonCause => {
    for (const affected of victims) remaining.delete(affected);
    const couldBe = (twins.get(victimsKey({ victims })) ?? [])
      .filter((other) => other.cause !== cause && other.victims.every((affected, at) => affected === victims[at]))
      .toSorted((one, other) => one.rank - other.rank)
      .map((other) => other.cause);
    const explained = at(failing, victims);
    return { cause, couldBe, failing: explained, sentence: describeCause(cause, { failing: explained, couldBe, all }) };
  };
  const mixed = (mixture: UnexplainedGroup): CommonCause => {
    for (const affected of mixture.victims) remaining.delete(affected);
    const explained = at(failing, mixture.victims);
    return { couldBe: [], failing: explained, sentence: describeGroup(mixture, explained, all) };
  };

  const several = Array.from(cover(suspects, remaining, 2), named);
  const mixtures = unexplainedGroups(failing, remaining).map(mixed);
  return [...several, ...mixtures, ...Array.from(cover(suspects, remaining, 1), named)];
}

function at(failing: readonly CheckResult[], positions: readonly number[]): CheckResult[] {
  return positions.flatMap((position) => failing[position] ?? []);
}

function victimsKey({ victims }: Pick<Suspect, "victims">): string {
  return `${victims.length} ${victims[0]} ${victims.at(-1)}`;
}

/** Only what fails completely is suspect. */
function suspectsOf(failing: readonly CheckResult[], all: readonly CheckResult[]): Suspect[] {
  const suspects = new Map<string, Suspect>();
  for (const [position, result] of failing.entries()) {
    for (const cause of causesOf(result)) {
      const key = keyOfCause(cause);
      const known = suspects.get(key);
      if (known) known.victims.push(position);
      else suspects.set(key, { cause, rank: rankOf(cause), victims: [position] });
    }
  }
  for (const result of all) {
    if (result.verdict === "unknown") continue;
    for (const cause of causesOf(result)) if (contradicts(result, cause)) suspects.delete(keyOfCause(cause));
  }
  return [...suspects.values()];
}

/**
 * The suspects that explain all the rest, by how much each adds, down to `least`. What one adds only shrinks, so each is visited once per
 * size.
 */
function* cover(suspects: readonly Suspect[], remaining: ReadonlySet<number>, least: number): Iterable<Suspect> {
  const adds = ({ victims }: Suspect) => victims.reduce((count, affected) => count + (remaining.has(affected) ? 1 : 0), 0);
  const byGain = Map.groupBy(suspects, adds);
  for (let gain = Math.max(0, ...byGain.keys()); gain >= least; gain -= 1) {
    for (const suspect of (byGain.get(gain) ?? []).toSorted((one, other) => one.rank - other.rank)) {
      const now = adds(suspect);
      if (now === gain) {
        yield suspect;
        continue;
      }
      const smaller = byGain.get(now);
      if (smaller) smaller.push(suspect);
      else byGain.set(now, [suspect]);
    }
  }
}

/** Failing checks that share a source or target which otherwise works, or nothing. */
export interface UnexplainedGroup {
  readonly of: "target" | "source" | "nothing";
  readonly victims: readonly number[];
}

/** From so many on, unrelated failures are summarized in one sentence. */
const MANY = 20;
const SHARE = 0.1;

/** Groups of two or more, largest first. */
function unexplainedGroups(failing: readonly CheckResult[], remaining: ReadonlySet<number>): UnexplainedGroup[] {
  const mixtures: UnexplainedGroup[] = [];
  const left = new Set(remaining);
  for (;;) {
    const largest = largestOf(failing, left);
    if (!largest) return mixtures;
    const scattered = left.size >= MANY && largest.victims.length < left.size * SHARE;
    if (largest.victims.length < 2 && !scattered) return mixtures;
    const mixture: UnexplainedGroup = scattered ? { of: "nothing", victims: [...left] } : largest;
    mixtures.push(mixture);
    for (const affected of mixture.victims) left.delete(affected);
  }
}

function largestOf(failing: readonly CheckResult[], left: ReadonlySet<number>): UnexplainedGroup | undefined {
  const groups = (["target", "source"] as const).flatMap((of) => {
    const members = Map.groupBy(left, (affected) =>
      of === "target" ? failing[affected]?.target.endpoint : failing[affected]?.source.name,
    );
    return Array.from(members.values(), (victims): UnexplainedGroup => ({ of, victims }));
  });
  return groups.toSorted((one, other) => other.victims.length - one.victims.length)[0];
}
