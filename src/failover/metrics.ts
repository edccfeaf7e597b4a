import { gauge, histogram } from "../kube/metrics.ts";

export const failoverState = gauge(
  "failover_state",
  "1 for the state in which the site of a policy was last seen: primary, secondary, mixed (some of each) or unknown (not all could be looked at).",
  "namespace",
  "policy",
  "state",
);
export const failoverErrors = gauge(
  "failover_errors",
  "What is in the way of a policy: resources that are missing, cannot be read or written, or have failed.",
  "namespace",
  "policy",
);
export const failoverInProgress = gauge("failover_in_progress", "1 while the site of a policy is being switched.", "namespace", "policy");
export const failoverBothHold = gauge(
  "failover_both_hold",
  "1 while, for all that is known, both sites of a policy hold the token, so that writers may run at both.",
  "namespace",
  "policy",
);
export const failoverTransitionSeconds = histogram("failover_transition_seconds", "How long switches of a site took.", "to", "mode");
export const failoverStepSeconds = histogram("failover_step_seconds", "How long the steps of switches took.", "step");
