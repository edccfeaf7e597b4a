import type { FailoverStatus } from "../../api/failover/failover-policy.ts";
import { parseKey } from "../../api/kind.ts";
import {
  failoverBothHold,
  failoverErrors,
  failoverInProgress,
  failoverState,
  failoverStepSeconds,
  failoverTransitionSeconds,
} from "../metrics.ts";
import type { News } from "./news.ts";
import type { Plan, PolicyFailure } from "../step.ts";

const STATES = ["primary", "secondary", "mixed", "unknown"] as const;

/** The metrics of a policy whose status has changed. */
export function counted(key: string, status: FailoverStatus, plan: Plan, refused: readonly PolicyFailure[], news: News): void {
  const labels = labelsOf(key);
  const { currentState, conditions = [], token, peer } = status;
  for (const state of STATES) failoverState.set({ ...labels, state }, state === currentState ? 1 : 0);
  failoverInProgress.set(labels, conditions.some(({ type, status }) => type === "InProgress" && status === "True") ? 1 : 0);
  failoverBothHold.set(labels, token?.state === "Held" && peer?.token?.state === "Held" ? 1 : 0);
  failoverErrors.set(labels, plan.refusals.length + plan.failures.length + refused.length);
  for (const { name, seconds } of news.steps) failoverStepSeconds.observe({ step: name }, seconds);
  if (news.completed) failoverTransitionSeconds.observe({ to: news.completed.to, mode: news.completed.mode }, news.completed.seconds);
}

/** The policy is gone, or somebody else's to count. */
export function countedOut(key: string): void {
  const labels = labelsOf(key);
  for (const state of STATES) failoverState.remove({ ...labels, state });
  for (const metric of [failoverErrors, failoverInProgress, failoverBothHold]) metric.remove(labels);
}

function labelsOf(key: string): { namespace: string; policy: string } {
  const { name: policy, namespace = "" } = parseKey(key);
  return { namespace, policy };
}
