import type { Condition } from "../../api/kind.ts";
import { metaTime } from "../../api/time.ts";
import { type ConditionReport, withTransitionTimes } from "../status/conditions.ts";
import type { AgentPart } from "./agent-lease.ts";
import type { MissedHeartbeats } from "./agent-watch.ts";

export interface PartOff {
  node: string;
  part: AgentPart;
}

export interface NotReporting {
  readonly reason: "AgentNotReporting" | "PartSwitchedOff";
  readonly message: string;
}

/**
 * The conditions of a report whose agent is silent or runs without the part: all become Unknown. `always` are added if missing. Undefined
 * if all are marked already.
 */
export function notReportingConditions(
  known: readonly Condition[] | undefined,
  always: readonly string[],
  cause: MissedHeartbeats | PartOff,
  now: Date,
): Condition[] | undefined {
  return unknownConditions(known, always, explanationOf(cause), now);
}

/** Undefined if all conditions are marked already. */
export function unknownConditions(
  known: readonly Condition[] | undefined,
  always: readonly string[],
  { reason, message }: { reason: string; message: string },
  now: Date,
): Condition[] | undefined {
  const existing = known ?? [];
  const marked = existing.filter((condition) => condition.status === "Unknown" && condition.reason === reason).map(({ type }) => type);
  const types = new Set([...existing.map(({ type }) => type), ...always]);
  if (types.isSubsetOf(new Set(marked))) return undefined;

  const reports = [...types].map((type): ConditionReport => ({ type, status: "Unknown", reason, message }));
  return withTransitionTimes(reports, existing, metaTime(now));
}

function explanationOf(cause: MissedHeartbeats | PartOff): NotReporting {
  if ("part" in cause) {
    const message = `Agent on node ${cause.node} runs without component ${cause.part}; the rest of this status is its last report`;
    return { reason: "PartSwitchedOff", message };
  }
  const since = metaTime(cause.since);
  return {
    reason: "AgentNotReporting",
    message: `Agent on node ${cause.node} has not reported since ${since}; the rest of this status is its last report`,
  };
}
