import type { Node } from "../../api/core/node.ts";
import type { Service } from "../../api/core/service.ts";
import type { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import type { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { type KubeObject, parseKey } from "../../api/kind.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { SpeakerStatuses } from "./announced-condition.ts";
import { l2BlockerIn } from "./l2-blocker.ts";
import { serviceBgpStatusKey } from "./service-bgp-status.ts";
import { isAnnounced } from "./service-l2-status.ts";
import { nodeOfReport } from "./unknown.ts";

type Found<T extends KubeObject> = Pick<Cache<T>, "get">;

export interface SpeakerStatusCaches {
  /** The reports of the elected nodes; each has the key of its Service. */
  readonly l2Reports: Found<ServiceL2Status>;
  readonly bgpReports: Found<ServiceBGPStatus>;
  readonly services: Found<Service>;
  readonly nodes: Found<Node>;
}

/** The speakers' reports about a Service; for nodes with unknown configuration also their BGP announcements. */
export function speakerStatusesOf(
  key: string,
  doubtful: ReadonlySet<string>,
  { l2Reports, bgpReports, services, nodes }: SpeakerStatusCaches,
): SpeakerStatuses {
  const l2 = l2Reports.get(key);
  const blocker = l2 && l2BlockerIn(l2);
  const answering = l2 && isAnnounced(l2) ? ownerOf(l2) : undefined;
  if (doubtful.size === 0) return { blocker, answering };

  const { name, namespace = "" } = parseKey(key);
  const exists = (service: string, node: string) => services.get(`${namespace}/${service}`) !== undefined && nodes.get(node) !== undefined;
  const reportOf = (node: string) => bgpReports.get(serviceBgpStatusKey({ name, namespace }, node, exists));
  const reports = Array.from(doubtful, (node) => [node, reportOf(node)] as const).filter(([node, report]) => ownerOf(report) === node);
  const overBgp = new Map(reports.map(([node, report]) => [node, report?.status?.bgpPeers ?? []]));
  return { blocker, overBgp, answering };
}

export function serviceOf({ metadata, status }: ServiceBGPStatus): string[] {
  return status?.service === undefined ? [] : [`${metadata.namespace ?? ""}/${status.service}`];
}

function ownerOf(report: KubeObject | undefined): string | undefined {
  return report && nodeOfReport(report);
}
