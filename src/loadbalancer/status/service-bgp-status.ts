import { nodeAnnotation } from "../../api/annotations.ts";
import type { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import type { DesiredStatus } from "../../kube/status/plan.ts";
import { joinedName, labelValue } from "./names.ts";

/** The Service that a report is about, and that owns it. */
export interface ReportedService {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** The peers of its addresses by family, sorted. */
export interface PeersByFamily {
  readonly IPv4: readonly string[];
  readonly IPv6: readonly string[];
  readonly all: readonly string[];
  readonly advertisements: readonly string[];
}

/** `exists` checks names of other Services in the namespace and other nodes. */
export function serviceBgpStatusKey(
  { name, namespace }: Pick<ReportedService, "name" | "namespace">,
  node: string,
  exists: (service: string, node: string) => boolean,
): string {
  return `${namespace}/${joinedName(name, node, exists)}`;
}

/** What a node announces for a Service, whether or not the sessions are up. */
export function serviceBgpStatus(service: ReportedService, node: string, reach: PeersByFamily): DesiredStatus<ServiceBGPStatus> {
  const families = (["IPv4", "IPv6"] as const)
    .filter((family) => reach[family].length > 0)
    .map((family) => ({ family, peers: reach[family].slice(0, MOST) }));
  return {
    status: {
      bgpPeers: reach.all.slice(0, MOST),
      node,
      service: service.name,
      families,
      advertisements: reach.advertisements.slice(0, MOST),
      conditions: [{ type: "Reported", status: "True", reason: "AgentReports", message: "As decided by the node's agent" }],
    },
    create: { metadata: serviceReportMetadata(service, node) },
  };
}

/** The schema's limit. */
const MOST = 1024;

export function serviceReportMetadata(
  { name, uid }: ReportedService,
  node: string,
): NonNullable<NonNullable<DesiredStatus<ServiceBGPStatus>["create"]>["metadata"]> {
  return {
    labels: { "metallb.io/node": labelValue(node), "metallb.io/service": labelValue(name) },
    annotations: { [nodeAnnotation]: node },
    ownerReferences: [{ apiVersion: "v1", kind: "Service", name, uid }],
  };
}
