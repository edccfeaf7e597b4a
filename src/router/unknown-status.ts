import type { Condition } from "../api/kind.ts";
import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { metaTime } from "../api/time.ts";
import type { Silence } from "../kube/members/agent-watch.ts";
import { type PartOff, silentConditions } from "../kube/members/unknown-conditions.ts";

/** What a node's router last reported, marked as no longer known: nothing is taken away, but no condition claims to be true or false any more. */
export function silentRouter(
  { status }: RouterNodeConfigurationStatus,
  cause: Silence | PartOff,
  now: Date,
): { conditions: Condition[]; lastUpdateTime: string } | undefined {
  const conditions = silentConditions(status?.conditions, ["Ready", "Degraded"], cause, now);
  return conditions && { conditions, lastUpdateTime: metaTime(now) };
}
