import type { Condition } from "../api/kind.ts";
import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { metaTime } from "../api/time.ts";
import { type ConditionReport, withTransitionTimes } from "../kube/status/conditions.ts";

/** What the agent always says of a node, and so what is unknown without it even if it never came to say it. */
const always = ["Ready", "Degraded"];

/** What a node's router last reported, marked as no longer known: nothing is taken away, but no condition claims to be true or false any more. */
export function silentRouter(
  { status }: RouterNodeConfigurationStatus,
  { node, since }: { node: string; since: Date },
  now: Date,
): { conditions: Condition[] } | undefined {
  const held: readonly Condition[] = status?.conditions ?? [];
  const marked = held.filter((condition) => condition.status === "Unknown" && condition.reason === "AgentSilent").map(({ type }) => type);
  const types = new Set([...held.map(({ type }) => type), ...always]);
  if (types.isSubsetOf(new Set(marked))) return undefined;

  const message = `The agent on node ${node} has been silent since ${metaTime(since)}; what else stands here is what it last reported`;
  const reports = [...types].map((type): ConditionReport => ({ type, status: "Unknown", reason: "AgentSilent", message }));
  return { conditions: withTransitionTimes(reports, held, metaTime(now)) };
}
