import { managedBy, modeOf } from "./managed.ts";
import type { Observed } from "./observed.ts";
import type { Plan } from "./step.ts";
import type { TokenDecision, TokenSight } from "./token.ts";

/** What a token decision rests on, of what was seen of the resources. */
export function tokenFacts(_observed: Observed): Pick<TokenSight, "demoted" | "writesStopped" | "degraded"> {
  return { demoted: false, writesStopped: false, degraded: [] };
}

/** What has to be done, in its order, what it waits for, and what is in the way. With `spec.peer` nothing is started without a token decision. */
export function plan(observed: Observed, _token?: TokenDecision): Plan {
  const { policy } = observed;
  return {
    to: policy.spec.desiredState,
    mode: modeOf(policy.spec) ?? "safe",
    refusals: managedBy(policy).problems,
    failures: [],
    steps: [],
    resources: [],
    currentState: "unknown",
    complete: false,
    writesStopped: false,
  };
}
