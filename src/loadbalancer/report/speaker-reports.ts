import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import type { ReportedKind } from "../../kube/members/janitor.ts";
import { nodeOfReport, silentConfigurationState, silentServiceBGP, silentServiceL2, silentSession } from "./silent.ts";

export interface SpeakerReports {
  readonly states: Cache<ConfigurationState>;
  /** For the janitor. */
  readonly kinds: readonly ReportedKind[];
}

/** What the speakers of all nodes report. */
export function speakerReports(manager: Manager, namespace: string): SpeakerReports {
  const nodeOf = nodeOfReport;
  const states = manager.cache(ConfigurationState, { namespace });
  const kinds = [
    { kind: ConfigurationState, cache: states, nodeOf, unknown: silentConfigurationState },
    { kind: BGPSessionStatus, cache: manager.cache(BGPSessionStatus, { namespace }), nodeOf, unknown: silentSession },
    { kind: ServiceBGPStatus, cache: manager.cache(ServiceBGPStatus), nodeOf, unknown: silentServiceBGP },
    { kind: ServiceL2Status, cache: manager.cache(ServiceL2Status), nodeOf, unknown: silentServiceL2 },
  ] as unknown as ReportedKind[];
  return { states, kinds };
}
