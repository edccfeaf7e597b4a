import type { Target } from "../../../lab/services/connect.ts";
import { Service } from "../../api/core/service.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";

/** A Service of type LoadBalancer, and who announces it. */
export interface AnnouncedService {
  /** namespace/name */
  readonly key: string;
  readonly addresses: readonly string[];
  readonly ports: readonly number[];
  /** The nodes that announce it over BGP. */
  readonly bgp: readonly string[];
  /** The node that holds its addresses on the local network. */
  readonly l2?: string;
}

/** The services of the lab as its status objects tell of them, kept up to date. */
export class AnnouncedServices {
  readonly #services: Cache<Service>;
  readonly #overBgp: Cache<ServiceBGPStatus>;
  readonly #overL2: Cache<ServiceL2Status>;

  constructor(client: KubeClient) {
    this.#services = new Cache(client, Service);
    this.#overBgp = new Cache(client, ServiceBGPStatus, { indexes: { service: serviceOf } });
    this.#overL2 = new Cache(client, ServiceL2Status, { indexes: { service: serviceOf } });
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
    const services = this.#services.list().filter(({ spec }) => spec.type === "LoadBalancer");
    return services.map((service) => this.#announced(service)).toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  #announced(service: Service): AnnouncedService {
    const key = keyOf(service);
    const l2 = this.#overL2.by("service", key).find(({ status }) => holds(status?.conditions));
    return {
      key,
      addresses: (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip])),
      ports: (service.spec.ports ?? []).filter(({ protocol }) => protocol !== "UDP").map(({ port }) => port),
      bgp: this.#overBgp
        .by("service", key)
        .flatMap(({ status }) => (status?.node === undefined || !status.bgpPeers?.length ? [] : [status.node]))
        .toSorted(),
      ...(l2?.status?.node === undefined ? {} : { l2: l2.status.node }),
    };
  }
}

/** What a client connects to: the first address and port of each. */
export function targetsOf(services: readonly AnnouncedService[]): Target[] {
  return services.flatMap(({ key, addresses: [address], ports: [port] }) =>
    address === undefined || port === undefined ? [] : [{ name: key, address, port }],
  );
}

/** `default/web 10.200.0.1 over BGP from node1, node2` */
export function announcedText({ key, addresses, bgp, l2 }: AnnouncedService): string {
  if (addresses.length === 0) return `${key} without an address`;
  const how = [...(bgp.length > 0 ? [`over BGP from ${bgp.join(", ")}`] : []), ...(l2 === undefined ? [] : [`on its segment by ${l2}`])];
  return `${key} ${addresses.join(", ")} ${how.length > 0 ? how.join(" and ") : "announced by nobody"}`;
}

function serviceOf(status: KubeObject & { status?: { service?: string } }): string[] {
  const { service } = status.status ?? {};
  return service === undefined ? [] : [`${status.metadata.namespace ?? ""}/${service}`];
}

function holds(conditions: readonly { type: string; status: string }[] | undefined): boolean {
  return conditions?.some(({ type, status }) => type === "Announced" && status !== "True") !== true;
}
