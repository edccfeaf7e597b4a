import type { FailoverPolicy, FailoverStatus } from "../api/failover/failover-policy.ts";
import type { Plan, PolicyFailure } from "./step.ts";
import type { PeerView } from "./token.ts";

export interface Outcome {
  /** What acting met with. */
  readonly failures: readonly PolicyFailure[];
  /** What the other site said in this pass. */
  readonly peer?: PeerView | undefined;
}

/** The next status. What others write into it (token and claims) stays as held; told the same twice, it says the same. */
export function report(
  held: FailoverStatus | undefined,
  policy: FailoverPolicy,
  plan: Plan,
  _outcome: Outcome,
  _now: Date,
): FailoverStatus {
  return {
    ...held,
    observedGeneration: policy.metadata.generation ?? 0,
    currentState: plan.currentState,
    mode: plan.mode,
  };
}
