/** What killed-writer.ts does to a store, step by step. */
export type Step = { put: string; round: number } | { remove: string };

const round = (number: number): Step[] => ["a", "b", "c"].map((name) => ({ put: name, round: number }));

export const COURSE: readonly Step[] = [...round(0), ...round(1), ...round(2), { remove: "c" }, ...round(3)];

/** Which object is in which round after so many steps. */
export function stateAfter(steps: number): Record<string, number> {
  const state: Record<string, number> = {};
  for (const step of COURSE.slice(0, steps)) {
    if ("put" in step) state[step.put] = step.round;
    else delete state[step.remove];
  }
  return state;
}
