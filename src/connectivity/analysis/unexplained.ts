import type { Said } from "./check-result.ts";

/** Failing checks that share a source or a target which works otherwise, or nothing at all. */
export interface Mixture {
  readonly of: "target" | "source" | "nothing";
  readonly victims: readonly number[];
}

/** From so many on, what shares hardly anything is told of in one sentence. */
const MANY = 20;
const SHARE = 0.1;

/** Puts those together of which two or more remain, largest group first. */
export function leftovers(failing: readonly Said[], remaining: ReadonlySet<number>): Mixture[] {
  const mixtures: Mixture[] = [];
  const left = new Set(remaining);
  for (;;) {
    const largest = largestOf(failing, left);
    if (!largest) return mixtures;
    const scattered = left.size >= MANY && largest.victims.length < left.size * SHARE;
    if (largest.victims.length < 2 && !scattered) return mixtures;
    const mixture: Mixture = scattered ? { of: "nothing", victims: [...left] } : largest;
    mixtures.push(mixture);
    for (const victim of mixture.victims) left.delete(victim);
  }
}

function largestOf(failing: readonly Said[], left: ReadonlySet<number>): Mixture | undefined {
  const groups = (["target", "source"] as const).flatMap((of) => {
    const members = Map.groupBy(left, (victim) => (of === "target" ? failing[victim]?.target.endpoint : failing[victim]?.source.name));
    return Array.from(members.values(), (victims): Mixture => ({ of, victims }));
  });
  return groups.toSorted((one, other) => other.victims.length - one.victims.length)[0];
}
