import { nodeAnnotation } from "../../api/annotations.ts";
import type { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import type { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import type { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { MissedHeartbeats } from "../../kube/members/agent-watch.ts";
import { type PartOff, notReportingConditions } from "../../kube/members/unknown-conditions.ts";

/** The last report of a node's speaker, marked Unknown; undefined if it is marked already. */

/** The node whose speaker reports it; none for the controller's. */
export function nodeOfReport({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[nodeAnnotation];
}

export function unknownConfigurationState(
  { status }: ConfigurationState,
  cause: MissedHeartbeats | PartOff,
  now: Date,
): object | undefined {
  const conditions = notReportingConditions(status?.conditions, ["Valid"], cause, now);
  if (!conditions && status?.result === "Unknown") return undefined;
  return { result: "Unknown", ...(conditions && { conditions }) };
}

export function unknownSession({ status }: BGPSessionStatus, cause: MissedHeartbeats | PartOff, now: Date): object | undefined {
  const conditions = notReportingConditions(status?.conditions, ["Reported"], cause, now);
  const bfdStatus = status?.bfdStatus === "N/A" ? "N/A" : "Unknown";
  if (!conditions && status?.bgpStatus === "Unknown" && status.bfdStatus === bfdStatus) return undefined;
  return { bgpStatus: "Unknown", bfdStatus, ...(conditions && { conditions }) };
}

export function unknownServiceBGP({ status }: ServiceBGPStatus, cause: MissedHeartbeats | PartOff, now: Date): object | undefined {
  const conditions = notReportingConditions(status?.conditions, ["Reported"], cause, now);
  return conditions && { conditions };
}

export function unknownServiceL2({ status }: ServiceL2Status, cause: MissedHeartbeats | PartOff, now: Date): object | undefined {
  const conditions = notReportingConditions(status?.conditions, ["Announced", "HostProtected"], cause, now);
  return conditions && { conditions };
}
