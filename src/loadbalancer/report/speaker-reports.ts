import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { nodeAnnotation } from "../../kube/members/agent-lease.ts";
import type { ReportedKind } from "../../kube/members/janitor.ts";
import { nodeOfReport, silentConfigurationState, silentServiceBGP, silentServiceL2, silentSession } from "./silent.ts";

export interface SpeakerReports {
  readonly states: Cache<ConfigurationState>;
  /** No more of them than whose they are and their conditions. */
  readonly l2: Cache<ServiceL2Status>;
  /** As little, and the name of the Service. */
  readonly bgp: Cache<ServiceBGPStatus>;
  /** For the janitor. */
  readonly kinds: readonly ReportedKind[];
}

/** What the speakers of all nodes report. */
export function speakerReports(manager: Manager, namespace: string): SpeakerReports {
  const nodeOf = nodeOfReport;
  const states = manager.cache(ConfigurationState, { namespace });
  const l2 = manager.cache(ServiceL2Status, { transform: conditionsOnly });
  const bgp = manager.cache(ServiceBGPStatus, { transform: conditionsOnly });
  const kinds = [
    { kind: ConfigurationState, cache: states, nodeOf, unknown: silentConfigurationState },
    { kind: BGPSessionStatus, cache: manager.cache(BGPSessionStatus, { namespace }), nodeOf, unknown: silentSession },
    { kind: ServiceBGPStatus, cache: bgp, nodeOf, unknown: silentServiceBGP },
    { kind: ServiceL2Status, cache: l2, nodeOf, unknown: silentServiceL2 },
  ] as unknown as ReportedKind[];
  return { states, l2, bgp, kinds };
}

/** There is one for each Service and node, and all that is read here is whose it is and its conditions. */
function conditionsOnly<T extends ServiceBGPStatus | ServiceL2Status>(report: T): T {
  const { name, namespace, uid, resourceVersion, annotations } = report.metadata;
  const metadata = { name, namespace, uid, resourceVersion, annotations: { [nodeAnnotation]: annotations?.[nodeAnnotation] } };
  const { apiVersion, kind, status } = report;
  return JSON.parse(
    JSON.stringify({ apiVersion, kind, metadata, status: { service: status?.service, conditions: status?.conditions } }),
  ) as T;
}
