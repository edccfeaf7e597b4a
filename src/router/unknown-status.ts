import type { Condition } from "../api/kind.ts";
import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { metaTime } from "../api/time.ts";
import type { MissedHeartbeats } from "../kube/members/agent-watch.ts";
import { type PartOff, notReportingConditions } from "../kube/members/unknown-conditions.ts";

/** Marks the last report of a node's router as Unknown: nothing is removed, but no condition is True or False. */
export function unknownRouter(
  { status }: RouterNodeConfigurationStatus,
  cause: MissedHeartbeats | PartOff,
  now: Date,
): { conditions: Condition[]; lastUpdateTime: string } | undefined {
  const conditions = notReportingConditions(status?.conditions, ["Ready", "Degraded"], cause, now);
  return conditions && { conditions, lastUpdateTime: metaTime(now) };
}
