import { pastTransition } from "../../failover/transition.ts";
import type { FailoverPolicy, FailoverStatus } from "../../api/failover/failover-policy.ts";

type Transition = NonNullable<FailoverStatus["transition"]>;
type Past = NonNullable<FailoverStatus["history"]>[number];
export type TransitionStep = Transition["steps"][number];

/** One switch of a policy, over or not. */
export interface TransitionRecord extends Omit<Past, "outcome" | "steps"> {
  readonly outcome: Past["outcome"] | "Running";
  readonly steps: readonly { readonly name: string; readonly seconds?: number }[];
  /** Of the latest one, more about each step. */
  readonly course?: readonly TransitionStep[];
}

/** Every switch that the policy remembers, newest first. */
export function switchesOf({ status }: FailoverPolicy): TransitionRecord[] {
  const past = (status?.history ?? []).map((one): TransitionRecord => Object.assign({ steps: [] }, one));
  return status?.transition ? [latest(status.transition), ...past] : past;
}

/** The running or last one, with the figures that it has once it is among the past ones. */
function latest(transition: Transition): TransitionRecord {
  const outcome = transition.completionTime === undefined ? "Running" : "Completed";
  return { ...pastTransition(transition), course: transition.steps, outcome };
}
