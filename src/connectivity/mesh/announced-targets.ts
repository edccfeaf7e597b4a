import type { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import type { Probe } from "../../api/connectivity/probe.ts";
import { selects } from "../../api/core/label-selector.ts";
import { announcedType, type Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { CheckTarget } from "./desired-check.ts";
import { endpointOf, familyOf, type Found, isTcpPort, none, type NotObserved, type Port } from "./target-parts.ts";

/** The Services of the whole cluster, and who announces them. Keys are `namespace/name`. */
export interface AnnouncedServices {
  services(): readonly Service[];
  service(key: string): Service | undefined;
  /** The nodes that announce its addresses of this family over BGP. */
  announcers(key: string, family: 4 | 6): readonly string[];
}

type Selector = NonNullable<ConnectivityMesh["spec"]["targets"][number]["announced"]>["selector"];

/** How announced addresses are probed unless the mesh says otherwise. */
export const fromRouter: Probe = { type: "TCP", from: "Router" };

const noLoadBalancer = "no load balancer runs";

/** The announced addresses of one Service. */
export function ofAnnouncedService(key: string, port: Port, announced: AnnouncedServices | undefined): Found {
  if (!announced) return none(noLoadBalancer);
  const service = announced.service(key);
  if (!service) return none(`Service ${key} does not exist`);
  const addresses = announcedAddresses(service, announced);
  if (addresses.length === 0) return none(`no node announces Service ${key} over BGP`);
  const isKnown = (service.spec.ports ?? []).some(isTcpPort(port));
  if (!isKnown && port !== undefined) return none(`Service ${key} has no TCP port ${port}`);
  return targetsAt(service, addresses, port);
}

/** Those of every Service that a mesh may check. */
export function ofAllAnnounced(
  selector: Selector,
  mayCheck: (service: Service) => boolean,
  announced: AnnouncedServices | undefined,
): Found {
  if (!announced) return none(noLoadBalancer);
  const chosen = announced.services().filter((service) => selects(selector, service.metadata.labels ?? {}) && mayCheck(service));
  const found = chosen.map((service) => targetsAt(service, announcedAddresses(service, announced), undefined));
  return { targets: found.flatMap(({ targets }) => targets), notObserved: found.flatMap(({ notObserved = [] }) => notObserved) };
}

interface AnnouncedAddress {
  readonly ip: string;
  readonly by: readonly string[];
}

function announcedAddresses(service: Service, announced: AnnouncedServices): AnnouncedAddress[] {
  if (service.spec.type !== "LoadBalancer") return [];
  const addresses = (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);
  return addresses.map((ip) => ({ ip, by: announced.announcers(keyOf(service), familyOf(ip)) })).filter(({ by }) => by.length > 0);
}

function targetsAt(service: Service, addresses: readonly AnnouncedAddress[], port: Port): Found {
  if (addresses.length === 0) return { targets: [] };
  const key = keyOf(service);
  const { ports = [], loadBalancerSourceRanges } = service.spec;
  const tcp = ports.filter(isTcpPort(port));
  if (tcp.length === 0) return { targets: [], notObserved: [{ service: key, reason: "NoTCPPort" }] };
  const open = addresses.filter(({ ip }) => isOpen(ip, loadBalancerSourceRanges));
  const notObserved: NotObserved[] = open.length < addresses.length ? [{ service: key, reason: "SourceRanges" }] : [];
  const targets = open.flatMap(({ ip, by }) =>
    tcp.map(({ port: number }): CheckTarget => ({
      identity: `external/${key}/${number}/${familyOf(ip)}`,
      readable: `${service.metadata.name}-external-${number}`,
      endpoint: endpointOf(ip, number),
      what: `external/${key}`,
      avoid: by,
      // Sessions may not have sent a new prefix yet: its first check waits for the evidence.
      isFailing: !isAnnounced(service),
    })),
  );
  return { targets, notObserved };
}

/** By the evidence of BGP sessions. */
export function isAnnounced({ status }: Service): boolean {
  return status?.conditions?.find(({ type }) => type === announcedType)?.status === "True";
}

/** Whether the source ranges let every client of the family in: from which address a router connects is not known here. */
function isOpen(ip: string, ranges: readonly string[] = []): boolean {
  return ranges.length === 0 || ranges.some((range) => range.trim().endsWith("/0") && familyOf(range) === familyOf(ip));
}
