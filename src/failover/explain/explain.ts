import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { explainer, type Explainer, type Need, type Standing, type Thing } from "../../api/health.ts";
import { peerTrouble } from "./peer.ts";
import { unreadiness } from "./readiness.ts";
import { troubles } from "./troubles.ts";
import { waiting } from "./waiting.ts";

/** What failover policies say to the cause graph. */
export function edges(): readonly Explainer[] {
  return [policies];
}

const policies = explainer(FailoverPolicy, function* (policy): Iterable<Standing> {
  const { metadata, status = {} } = policy;
  const thing: Thing = { kind: "FailoverPolicy", namespace: metadata.namespace ?? "", name: metadata.name };
  const controller: Need = { thing: { kind: "Controller", name: "plumbline" } };
  const conditions = new Map((status.conditions ?? []).map((condition) => [condition.type, condition]));
  const error = conditions.get("Error");
  const wrong = error?.status === "True" ? troubles(policy, error) : unreadiness(policy);
  const found = [...wrong, ...waiting(policy), ...peerTrouble(policy)];
  for (const { about } of found) yield* about;

  const worst = found.find(({ word }) => word.ownFault) ?? found[0];
  const isUnready = error?.status !== "True" && wrong.length > 0;
  const since = conditions.get(error?.status === "True" ? "Error" : isUnready ? "Ready" : "Complete")?.lastTransitionTime;
  const isThere = conditions.get("Complete")?.status === "True" || status.currentState === policy.spec.desiredState;
  yield {
    thing,
    domain: "failover",
    health: !worst ? "Healthy" : isThere || error?.status !== "True" ? "Degraded" : "Down",
    ...(worst ? { ...worst.word, ...(since !== undefined && { since }) } : healthyWord(status.summary)),
    needs: [controller, ...found.flatMap(({ about }) => about.slice(0, 1).map((one): Need => ({ thing: one.thing })))],
  };
});

function healthyWord(summary: string | undefined): { message?: string } {
  return summary === undefined ? {} : { message: summary };
}
