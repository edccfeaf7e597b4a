import { EndpointSlice, serviceNameLabel } from "../../api/core/endpoint-slice.ts";
import { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { type Health, componentId, type Index, worseHealth } from "../../api/health.ts";
import { type RowBuilder, rowKey, type BuildContext } from "./row-builder.ts";
import {
  MAX_NODES,
  type PoolRow,
  type PoolUse,
  type ServiceRow,
  type ServiceDetailData,
  type SessionCell,
  type SessionsRow,
} from "../api.ts";
import { conditionsOf, namespaceIn, definedFields, reasonFields } from "./fields.ts";

const POOL_ANNOTATION = "metallb.io/ip-allocated-from-pool";

const announcing: Index<ServiceBGPStatus> = {
  kind: ServiceBGPStatus,
  of: ({ metadata, status }) => (status?.service === undefined ? [] : [`${metadata.namespace}/${status.service}`]),
};
const sessionsOn: Index<BGPSessionStatus> = {
  kind: BGPSessionStatus,
  of: ({ metadata, status }) => (status?.node === undefined ? [] : [`${metadata.namespace}/${status.node}`]),
};
const slicesOf: Index<EndpointSlice> = {
  kind: EndpointSlice,
  of: ({ metadata }) => {
    const service = metadata.labels?.[serviceNameLabel];
    return service === undefined ? [] : [`${metadata.namespace}/${service}`];
  },
};

export const pools: RowBuilder<"loadbalancer"> = {
  view: "loadbalancer",
  type: "pool",
  kind: IPAddressPool,
  rowOf: (pool: IPAddressPool) => keyOf(pool),
  build: poolRow,
  of: (key) => [{ kind: IPAddressPool, ...namespaceIn(key) }],
};

export const services: RowBuilder<"loadbalancer"> = {
  view: "loadbalancer",
  type: "service",
  kind: Service,
  rowOf: (service: Service) => keyOf(service),
  build: serviceRow,
  of: (key) => [
    { kind: Service, ...namespaceIn(key) },
    { kind: ServiceBGPStatus, ...namespaceIn(key) },
    { kind: ServiceL2Status, ...namespaceIn(key) },
  ],
};

export const sessions: RowBuilder<"loadbalancer"> = {
  view: "loadbalancer",
  type: "sessions",
  kind: BGPSessionStatus,
  rowOf: (session: BGPSessionStatus) => sessionsOn.of(session)[0],
  build: sessionsRow,
  of: (key) => [{ kind: BGPSessionStatus, ...namespaceIn(key) }],
};

function poolRow(key: string, context: BuildContext): PoolRow | undefined {
  const pool = context.get(IPAddressPool, key);
  if (!pool) return undefined;
  const { metadata, spec, status = {} } = pool;
  const { namespace = "", name } = metadata;
  const id = componentId({ kind: "IPAddressPool", namespace, name });
  const { health, message, since } = reasonFields(context.verdict(id));
  return {
    type: "pool",
    key: rowKey("pool", key),
    id,
    namespace,
    name,
    addresses: spec.addresses,
    ...definedFields({ ipv4: use(status.assignedIPV4, status.availableIPV4), ipv6: use(status.assignedIPV6, status.availableIPV6) }),
    services: status.services ?? 0,
    health,
    ...definedFields({ message, since }),
  };
}

function use(assigned = 0, available = 0): PoolUse | undefined {
  return assigned + available > 0 ? { assigned, available } : undefined;
}

function serviceRow(key: string, context: BuildContext): ServiceRow | undefined {
  const service = context.get(Service, key);
  if (service?.spec.type !== "LoadBalancer") return undefined;
  const { metadata, status } = service;
  const { namespace = "", name } = metadata;
  const id = componentId({ kind: "Service", namespace, name });
  const nodes = context
    .by(announcing, key)
    .flatMap((report) => (report.status?.bgpPeers?.length && report.status.node !== undefined ? [report.status.node] : []))
    .toSorted();
  const l2 = context.get(ServiceL2Status, key)?.status;
  return {
    type: "service",
    key: rowKey("service", key),
    id,
    namespace,
    name,
    addresses: (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? []),
    ...definedFields({ pool: metadata.annotations?.[POOL_ANNOTATION] }),
    ...reasonFields(context.verdict(id)),
    bgp: { count: nodes.length, nodes: nodes.slice(0, MAX_NODES) },
    ...(l2?.node !== undefined && { l2: { node: l2.node, interfaces: (l2.interfaces ?? []).map((one) => one.name) } }),
  };
}

export function sessionsRow(key: string, context: BuildContext): SessionsRow | undefined {
  const found = context.by(sessionsOn, key);
  const node = found[0]?.status?.node;
  if (node === undefined) return undefined;
  const cells = found.map((session) => [session.status?.peer ?? session.metadata.name, cellOf(session, context)] as const);
  return {
    type: "sessions",
    key: rowKey("sessions", key),
    node,
    health: cells.reduce<Health>((health, [, cell]) => worseHealth(health, cell.health), "Healthy"),
    peers: Object.fromEntries(cells.toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
}

function cellOf({ metadata, status = {} }: BGPSessionStatus, context: BuildContext): SessionCell {
  const { bgpStatus = "Unknown", bfdStatus, node, peer, since } = status;
  const { namespace = "" } = metadata;
  const session = { namespace, name: peer ?? "", node: node ?? "" };
  const id = componentId({ kind: "BGPPeer", ...session });
  const verdict = context.verdict(id) ?? context.verdict(componentId({ kind: "SentPrefixes", ...session }));
  const own: Health = bgpStatus === "Established" ? "Healthy" : bgpStatus === "Unknown" ? "Unknown" : "Down";
  return {
    id,
    bgp: bgpStatus,
    health: verdict ? worseHealth(verdict.health, own) : own,
    ...definedFields({ bfd: bfdStatus === "N/A" ? undefined : bfdStatus, since }),
  };
}

export function serviceDetail(key: string, context: BuildContext, metallbNamespace: string): ServiceDetailData | undefined {
  const row = serviceRow(key, context);
  if (!row) return undefined;
  const { namespace, name } = row;
  const l2 = context.get(ServiceL2Status, key)?.status;
  const endpoints = context.by(slicesOf, key).flatMap((slice) => slice.endpoints ?? []);
  const healthOn = (node: string) => context.verdict(componentId({ kind: "Service", namespace, name, node }));
  const overBgp = context.by(announcing, key).flatMap(({ status = {} }) => {
    const { node, bgpPeers = [], advertisements = [] } = status;
    if (node === undefined) return [];
    const cells = sessionsRow(`${metallbNamespace}/${node}`, context)?.peers ?? {};
    const peers = bgpPeers.map((peer) => ({ name: peer, bgp: cells[peer]?.bgp ?? "Unknown", health: cells[peer]?.health ?? "Unknown" }));
    const { health, message } = reasonFields(healthOn(node));
    return [{ node, protocol: "BGP" as const, health, peers, advertisements, ...definedFields({ message }) }];
  });
  const announced = l2?.conditions?.find(({ type }) => type === "Announced");
  const overL2 =
    l2?.node === undefined
      ? []
      : [
          {
            node: l2.node,
            protocol: "L2" as const,
            health: healthOn(l2.node)?.health ?? healthOfCondition(announced?.status),
            interfaces: (l2.interfaces ?? []).map((one) => one.name),
            ...definedFields({ message: announced?.message }),
          },
        ];
  return {
    type: "service",
    key: row.key,
    row,
    conditions: conditionsOf(context.get(Service, key)?.status?.conditions),
    announcements: [...overL2, ...overBgp.toSorted((one, other) => (one.node < other.node ? -1 : 1))],
    eligible: l2?.eligibleNodes ?? [],
    endpoints: { ready: endpoints.filter(({ conditions }) => conditions?.ready !== false).length, total: endpoints.length },
  };
}

function healthOfCondition(status: string | undefined): Health {
  if (status === "True") return "Healthy";
  return status === "False" ? "Down" : "Unknown";
}
