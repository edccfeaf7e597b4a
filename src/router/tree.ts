import type { Failure } from "../resilience/failure.ts";
import type { RouterPlan } from "./plan.ts";
import type { Live, Step } from "./step.ts";

/** The steps of a plan in the order of the dependency tree. Which is next depends on what became of those before; what is missing in the end is returned. */
export function* traverse({ underlay, steps }: RouterPlan): Generator<Step, Failure[], Live> {
  if (underlay) yield underlay;
  for (const step of steps) yield step;
  return [];
}
