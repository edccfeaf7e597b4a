import { FailoverPolicy } from "../api/failover/failover-policy.ts";
import { explainer, type Explainer, type Dependency, type HealthStatement, type Component } from "../api/health.ts";
import { peerProblem } from "./explain/peer.ts";
import { readinessProblems } from "./explain/readiness.ts";
import { policyProblems } from "./explain/troubles.ts";
import { waiting } from "./explain/waiting.ts";

/** What failover policies say to the cause graph. */
export function edges(): readonly Explainer[] {
  return [policies];
}

const policies = explainer(FailoverPolicy, function* (policy): Iterable<HealthStatement> {
  const { metadata, status = {} } = policy;
  const component: Component = { kind: "FailoverPolicy", namespace: metadata.namespace ?? "", name: metadata.name };
  const controller: Dependency = { component: { kind: "Controller", name: "plumbline" } };
  const conditions = new Map((status.conditions ?? []).map((condition) => [condition.type, condition]));
  const error = conditions.get("Error");
  const wrong = error?.status === "True" ? policyProblems(policy, error) : readinessProblems(policy);
  const found = [...wrong, ...waiting(policy), ...peerProblem(policy)];
  for (const { about } of found) yield* about;

  const worst = found.find(({ word }) => word.ownFault) ?? found[0];
  const isUnready = error?.status !== "True" && wrong.length > 0;
  const since = conditions.get(error?.status === "True" ? "Error" : isUnready ? "Ready" : "Complete")?.lastTransitionTime;
  const isThere = conditions.get("Complete")?.status === "True" || status.currentState === policy.spec.desiredState;
  yield {
    component,
    domain: "failover",
    health: !worst ? "Healthy" : isThere || error?.status !== "True" ? "Degraded" : "Down",
    ...(worst ? { ...worst.word, ...(since !== undefined && { since }) } : healthyWord(status.summary)),
    dependencies: [controller, ...found.flatMap(({ about }) => about.slice(0, 1).map((one): Dependency => ({ component: one.component })))],
  };
});

function healthyWord(summary: string | undefined): { message?: string } {
  return summary === undefined ? {} : { message: summary };
}
