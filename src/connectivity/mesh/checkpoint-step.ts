import { LONGEST_CHECKPOINT_MS } from "../checker/longest-checkpoint.ts";

/** Refreshes a second that all checks of meshes together may cost a cluster. */
const PER_SECOND = 5;
const LONGEST = LONGEST_CHECKPOINT_MS / 1000;
const STEPS = [60, 120, 300, LONGEST];
/** How far the number must have fallen before checks are refreshed more often again: a change of step is a write to each of them. */
const FALLEN = 0.8;

/** How many seconds a check may be behind while nothing happens, with this many of them. `current` is what they have now. */
export function checkpointSeconds(checks: number, current: number | undefined): number {
  const step = stepFor(checks);
  if (current === undefined || step >= current) return step;
  return Math.min(current, stepFor(checks / FALLEN));
}

function stepFor(checks: number): number {
  return STEPS.find((seconds) => checks <= seconds * PER_SECOND) ?? LONGEST;
}
