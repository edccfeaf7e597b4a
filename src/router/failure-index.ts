import type { Index } from "../api/health.ts";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";

export type Failed = NonNullable<NonNullable<RouterNodeConfigurationStatus["status"]>["failedResources"]>[number];

/** The nodes on which a resource fails for the same reason. */
export const byFailure: Index<RouterNodeConfigurationStatus> = {
  kind: RouterNodeConfigurationStatus,
  of: ({ status }) => (status?.failedResources ?? []).filter(isOwnFault).map(explainReason),
};

export function isOwnFault({ reason }: Pick<Failed, "reason">): boolean {
  return reason !== "DependencyFailed";
}

export function explainReason({ kind, name, reason, message = "" }: Failed): string {
  return `${kind}/${name} ${reason} ${message}`;
}
