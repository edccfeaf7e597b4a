import { nodeAnnotation } from "../../api/annotations.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import type { ReportedKind } from "../../kube/members/status-cleaner.ts";
import { nodeOfReport, unknownConfigurationState, unknownServiceBGP, unknownServiceL2, unknownSession } from "./unknown.ts";

export interface SpeakerReports {
  readonly states: Cache<ConfigurationState>;
  /** As little of their metadata as is read. */
  readonly l2: Cache<ServiceL2Status>;
  /** As little. */
  readonly bgp: Cache<ServiceBGPStatus>;
  readonly sessions: Cache<BGPSessionStatus>;
  /** For the status cleaner. */
  readonly kinds: readonly ReportedKind[];
}

export function speakerReports(manager: Manager, namespace: string): SpeakerReports {
  const speaker = { nodeOf: nodeOfReport, part: "loadbalancer" };
  const states = manager.cache(ConfigurationState, { namespace });
  const l2 = manager.cache(ServiceL2Status, serviceReports);
  const bgp = manager.cache(ServiceBGPStatus, serviceReports);
  const sessions = manager.cache(BGPSessionStatus, { namespace });
  const kinds = [
    { kind: ConfigurationState, cache: states, ...speaker, unknown: unknownConfigurationState },
    { kind: BGPSessionStatus, cache: sessions, ...speaker, unknown: unknownSession },
    { kind: ServiceBGPStatus, cache: bgp, ...speaker, unknown: unknownServiceBGP },
    { kind: ServiceL2Status, cache: l2, ...speaker, unknown: unknownServiceL2 },
  ] as unknown as ReportedKind[];
  return { states, l2, bgp, sessions, kinds };
}

/** The cache options, so that all share one cache. */
export const serviceReports = { transform: stripReport };

/** There is one for each Service and node, so of the metadata only whose it is. */
function stripReport<T extends ServiceBGPStatus | ServiceL2Status>(report: T): T {
  const { name, namespace, uid, resourceVersion, annotations } = report.metadata;
  const metadata = { name, namespace, uid, resourceVersion, annotations: { [nodeAnnotation]: annotations?.[nodeAnnotation] } };
  const { apiVersion, kind, status } = report;
  return JSON.parse(JSON.stringify({ apiVersion, kind, metadata, status })) as T;
}
