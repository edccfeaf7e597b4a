import { gauge, histogram } from "../kube/metrics.ts";

export const failoverState = gauge(
  "failover_state",
  "1 for the last observed state of the site of a policy: primary, secondary, mixed (some of each) or unknown (not everything could be read).",
  "namespace",
  "policy",
  "state",
);
export const failoverErrors = gauge(
  "failover_errors",
  "Problems of a policy: resources that are missing, cannot be read or written, or have failed.",
  "namespace",
  "policy",
);
export const failoverInProgress = gauge("failover_in_progress", "1 while the site of a policy is being switched.", "namespace", "policy");
export const failoverSplitBrain = gauge(
  "failover_split_brain",
  "1 while both sites of a policy hold the token, as far as known: writers may run at both.",
  "namespace",
  "policy",
);
export const failoverTransitionSeconds = histogram("failover_transition_seconds", "How long switches of a site took.", "to", "mode");
export const failoverStepSeconds = histogram("failover_step_seconds", "How long the steps of switches took.", "step");
export const failoverVolumesSeconds = histogram(
  "failover_volumes_writable_seconds",
  "How long switches to primary took until every volume was writable; failover_transition_seconds ends when the application is available.",
  "mode",
);
export const failoverReady = gauge(
  "failover_ready",
  "1 for the status of the condition Ready of a policy: True when its site can be switched, False when it cannot, Unknown when this was not observed.",
  "namespace",
  "policy",
  "status",
);
export const failoverPeerReachable = gauge(
  "failover_peer_reachable",
  "1 while the other site's policy can be read, 0 while it cannot; only for policies with spec.peer.",
  "namespace",
  "policy",
);
export const failoverLastSync = gauge(
  "failover_last_sync_timestamp_seconds",
  "When the volume that is furthest behind was last copied: on a primary by its own volumes, on a secondary as the other site last reported it.",
  "namespace",
  "policy",
);
