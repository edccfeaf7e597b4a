import type { CheckResult } from "./check-result.ts";

/** Failing checks that share a source or target which otherwise works, or nothing. */
export interface UnexplainedGroup {
  readonly of: "target" | "source" | "nothing";
  readonly victims: readonly number[];
}

/** From so many on, unrelated failures are summarized in one sentence. */
const MANY = 20;
const SHARE = 0.1;

/** Groups of two or more, largest first. */
export function unexplainedGroups(failing: readonly CheckResult[], remaining: ReadonlySet<number>): UnexplainedGroup[] {
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
