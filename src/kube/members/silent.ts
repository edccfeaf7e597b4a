import type { Condition } from "../../api/kind.ts";
import { metaTime } from "../../api/time.ts";
import { type ConditionReport, withTransitionTimes } from "../status/conditions.ts";
import type { Silence } from "./agent-watch.ts";

/**
 * The conditions of a report whose agent has fallen silent: none claims to be true or false any more. `always` are those that the agent would have come to
 * say. undefined where all of them are marked already.
 */
export function silentConditions(
  known: readonly Condition[] | undefined,
  always: readonly string[],
  { node, since }: Silence,
  now: Date,
): Condition[] | undefined {
  const held = known ?? [];
  const marked = held.filter((condition) => condition.status === "Unknown" && condition.reason === "AgentSilent").map(({ type }) => type);
  const types = new Set([...held.map(({ type }) => type), ...always]);
  if (types.isSubsetOf(new Set(marked))) return undefined;

  const message = `The agent on node ${node} has been silent since ${metaTime(since)}; what else stands here is what it last reported`;
  const reports = [...types].map((type): ConditionReport => ({ type, status: "Unknown", reason: "AgentSilent", message }));
  return withTransitionTimes(reports, held, metaTime(now));
}
