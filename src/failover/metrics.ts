import type { FailoverStatus } from "../api/failover/failover-policy.ts";
import { parseKey } from "../api/kind.ts";
import { oldest } from "./token/peer-copy.ts";
import type { StatusChanges } from "./events.ts";
import type { SwitchPlan } from "./steps/step.ts";
import type { PolicyFailure } from "./policy/failure.ts";
import { isVolumeKind } from "./policy/managed.ts";
import { gauge, histogram } from "../kube/metrics.ts";

const failoverState = gauge(
  "failover_state",
  "1 for the last observed state of the site of a policy: primary, secondary, mixed (some of each) or unknown (not everything could be read).",
  "namespace",
  "policy",
  "state",
);
const failoverErrors = gauge(
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
const failoverTransitionSeconds = histogram("failover_transition_seconds", "How long switches of a site took.", "to", "mode");
const failoverStepSeconds = histogram("failover_step_seconds", "How long the steps of switches took.", "step");
const failoverVolumesSeconds = histogram(
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

const STATUSES = ["True", "False", "Unknown"] as const;
const STATES = ["primary", "secondary", "mixed", "unknown"] as const;

export function recordMetrics(
  key: string,
  status: FailoverStatus,
  plan: SwitchPlan,
  writeFailures: readonly PolicyFailure[],
  changes: StatusChanges,
): void {
  const labels = labelsOf(key);
  const { currentState, conditions = [], token, peer } = status;
  for (const state of STATES) failoverState.set({ ...labels, state }, state === currentState ? 1 : 0);
  failoverInProgress.set(labels, conditions.some(({ type, status }) => type === "InProgress" && status === "True") ? 1 : 0);
  failoverSplitBrain.set(labels, token?.state === "Held" && peer?.token?.state === "Held" ? 1 : 0);
  failoverErrors.set(labels, plan.rejections.length + plan.failures.length + writeFailures.length);
  const ready = conditions.find(({ type }) => type === "Ready")?.status;
  for (const value of STATUSES) failoverReady.set({ ...labels, status: value }, value === ready ? 1 : 0);
  setOrRemove(failoverPeerReachable, labels, peer && Number(peer.reachable));
  setOrRemove(failoverLastSync, labels, lastSyncSeconds(status, plan));
  for (const { name, seconds } of changes.steps) failoverStepSeconds.observe({ step: name }, seconds);
  if (changes.volumes) failoverVolumesSeconds.observe({ mode: changes.volumes.mode }, changes.volumes.seconds);
  if (changes.completed)
    failoverTransitionSeconds.observe({ to: changes.completed.to, mode: changes.completed.mode }, changes.completed.seconds);
}

/** Deleted, or counted by another controller. */
export function removeMetrics(key: string): void {
  const labels = labelsOf(key);
  for (const state of STATES) failoverState.remove({ ...labels, state });
  for (const status of STATUSES) failoverReady.remove({ ...labels, status });
  for (const metric of [failoverErrors, failoverInProgress, failoverSplitBrain, failoverPeerReachable, failoverLastSync]) {
    metric.remove(labels);
  }
}

/** The volumes of a secondary do not report when they were last copied. */
function lastSyncSeconds({ transition, peer }: FailoverStatus, { resources }: SwitchPlan): number | undefined {
  const volumes = resources.filter(({ resource }) => isVolumeKind(resource.kind));
  const time = transition?.to === "primary" ? oldest(volumes.map(({ lastSyncTime }) => lastSyncTime)) : peer?.lastSyncTime;
  return time === undefined ? undefined : Date.parse(time) / 1000;
}

function setOrRemove(metric: typeof failoverPeerReachable, labels: ReturnType<typeof labelsOf>, value: number | undefined): void {
  if (value === undefined) metric.remove(labels);
  else metric.set(labels, value);
}

function labelsOf(key: string): { namespace: string; policy: string } {
  const { name: policy, namespace = "" } = parseKey(key);
  return { namespace, policy };
}
