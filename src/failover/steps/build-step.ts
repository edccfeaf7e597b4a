import type { StepInput } from "./resources.ts";
import type { SwitchStep, StepName } from "./step.ts";
import type { Wait } from "../policy/failure.ts";

/**
 * A step as its finding makes it. `pending`: earlier steps come first, unless nothing is left to do here. `gated`: it does not write while it waits for
 * anything.
 */
export function stepOf(name: StepName, { writes, waits }: StepInput, { pending = false, gated = false } = {}): SwitchStep {
  return { name, state: stateOf(writes.length > 0, waits.length > 0, pending, gated), writes, waits: once(waits) };
}

function stateOf(writes: boolean, waits: boolean, pending: boolean, gated: boolean): SwitchStep["state"] {
  if (!writes && !waits) return "Done";
  if (pending) return "Pending";
  return writes && !(gated && waits) ? "Act" : "Wait";
}

/** One object is waited for once in a step, for what was said of it first. */
function once(waits: readonly Wait[]): Wait[] {
  const byObject = new Map<string, Wait>();
  for (const wait of waits) {
    const key = `${wait.kind}/${wait.namespace ?? ""}/${wait.name}`;
    if (!byObject.has(key)) byObject.set(key, wait);
  }
  return [...byObject.values()];
}
