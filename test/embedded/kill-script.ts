/** What killed-writer.ts does to a store, step by step. */
export type WriteStep = { put: string; round: number } | { remove: string };

const round = (number: number): WriteStep[] => ["a", "b", "c"].map((name) => ({ put: name, round: number }));

export const WRITE_STEPS: readonly WriteStep[] = [...round(0), ...round(1), ...round(2), { remove: "c" }, ...round(3)];

/** Which object is in which round after so many steps. */
export function stateAfter(steps: number): Record<string, number> {
  const state: Record<string, number> = {};
  for (const step of WRITE_STEPS.slice(0, steps)) {
    if ("put" in step) state[step.put] = step.round;
    else delete state[step.remove];
  }
  return state;
}
