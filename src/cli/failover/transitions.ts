import { pastTransition } from "../../failover/transition.ts";
import type { FailoverPolicy, FailoverStatus } from "../../api/failover/failover-policy.ts";

type Transition = NonNullable<FailoverStatus["transition"]>;
type Past = NonNullable<FailoverStatus["history"]>[number];
export type TransitionStep = Transition["steps"][number];

export interface TransitionRecord extends Omit<Past, "outcome" | "steps"> {
  readonly outcome: Past["outcome"] | "Running";
  readonly steps: readonly { readonly name: string; readonly seconds?: number }[];
  /** More about each step; only of the latest switch. */
  readonly course?: readonly TransitionStep[];
}

export function switchesOf({ status }: FailoverPolicy): TransitionRecord[] {
  const past = (status?.history ?? []).map((one): TransitionRecord => Object.assign({ steps: [] }, one));
  return status?.transition ? [latest(status.transition), ...past] : past;
}

/** With the figures that it will have as a past one. */
function latest(transition: Transition): TransitionRecord {
  const outcome = transition.completionTime === undefined ? "Running" : "Completed";
  return { ...pastTransition(transition), course: transition.steps, outcome };
}
