import type { ConnectTarget } from "../services/connect.ts";
import { Service } from "../../src/api/core/service.ts";
import { keyOf, type KubeObject } from "../../src/api/kind.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../src/api/metallb/service-l2-status.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";

/** A Service of type LoadBalancer, and who announces it. */
export interface AnnouncedService {
  /** namespace/name */
  readonly key: string;
  readonly addresses: readonly string[];
  /** Where it is within the cluster. */
  readonly clusterIPs: readonly string[];
  readonly ports: readonly number[];
  /** The nodes that announce it over BGP. */
  readonly bgp: readonly string[];
  /** The node that holds its addresses on the local network. */
  readonly l2?: string;
}

/** What services and the statuses of those who announce them say together. */
interface ServiceState {
  readonly services: readonly Service[];
  readonly overBgp: readonly ServiceBGPStatus[];
  readonly overL2: readonly ServiceL2Status[];
}

/** The services of the lab as its status objects tell of them, kept up to date. */
export class AnnouncedServices {
  readonly #services: Cache<Service>;
  readonly #overBgp: Cache<ServiceBGPStatus>;
  readonly #overL2: Cache<ServiceL2Status>;

  constructor(client: KubeClient) {
    this.#services = new Cache(client, Service);
    this.#overBgp = new Cache(client, ServiceBGPStatus);
    this.#overL2 = new Cache(client, ServiceL2Status);
  }

  start(signal: AbortSignal): void {
    for (const cache of [this.#services, this.#overBgp, this.#overL2]) cache.start(signal);
  }

  /** Told at every change of what `list` would give, and at times without one. */
  subscribe(listener: () => void): void {
    this.#services.subscribe(listener);
    this.#overBgp.subscribe(listener);
    this.#overL2.subscribe(listener);
  }

  list(): AnnouncedService[] {
    return announcedServices({ services: this.#services.list(), overBgp: this.#overBgp.list(), overL2: this.#overL2.list() });
  }
}

export function announcedServices({ services, overBgp, overL2 }: ServiceState): AnnouncedService[] {
  const balanced = services.filter(({ spec }) => spec.type === "LoadBalancer");
  return balanced.map((service) => announced(service, overBgp, overL2)).toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

function announced(service: Service, overBgp: ServiceState["overBgp"], overL2: ServiceState["overL2"]): AnnouncedService {
  const key = keyOf(service);
  const l2 = overL2.find((status) => serviceOf(status) === key && holds(status))?.status?.node;
  const bgp = overBgp.filter((status) => serviceOf(status) === key && status.status?.bgpPeers?.length);
  return {
    key,
    addresses: (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip])),
    clusterIPs: clusterIPsOf(service),
    ports: (service.spec.ports ?? []).filter(({ protocol }) => protocol !== "UDP").map(({ port }) => port),
    bgp: bgp.flatMap(({ status }) => (status?.node === undefined ? [] : [status.node])).toSorted(),
    ...(l2 === undefined ? {} : { l2 }),
  };
}

function clusterIPsOf({ spec: { clusterIP = "", clusterIPs = [clusterIP] } }: Service): string[] {
  return clusterIPs.filter((address) => address !== "" && address !== "None");
}

/** What a client connects to: the first address and port of each. */
export function targetsOf(services: readonly AnnouncedService[]): ConnectTarget[] {
  return services.flatMap(({ key, addresses: [address], ports: [port] }) =>
    address === undefined || port === undefined ? [] : [{ name: key, address, port }],
  );
}

/** `default/web 10.200.0.1 over BGP from node1, node2` */
export function announcedText({ key, addresses, bgp, l2 }: AnnouncedService): string {
  if (addresses.length === 0) return `${key} without an address`;
  const how = [...(bgp.length > 0 ? [`over BGP from ${bgp.join(", ")}`] : []), ...(l2 === undefined ? [] : [`on its segment by ${l2}`])];
  return `${key} ${addresses.join(", ")} ${how.length > 0 ? how.join(" and ") : "not announced"}`;
}

function serviceOf(status: KubeObject & { status?: { service?: string } | undefined }): string {
  return `${status.metadata.namespace ?? ""}/${status.status?.service ?? ""}`;
}

function holds({ status }: ServiceL2Status): boolean {
  return status?.conditions?.some((condition) => condition.type === "Announced" && condition.status !== "True") !== true;
}
