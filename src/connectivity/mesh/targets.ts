import type { Endpoint, EndpointSlice } from "../../api/core/endpoint-slice.ts";
import { selects } from "../../api/core/label-selector.ts";
import type { Node } from "../../api/core/node.ts";
import type { Service } from "../../api/core/service.ts";
import type { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import { isPlain, type Probe } from "../../api/connectivity/probe.ts";
import { allowAnnotation } from "../../api/annotations.ts";
import { parseTarget } from "../probe/target.ts";
import { type AnnouncedServices, fromRouter, ofAllAnnounced, ofAnnouncedService } from "./announced-targets.ts";
import type { CheckTarget } from "./desired-check.ts";
import { allowsMeshesOf, endpointOf, familyOf, type Found, isTcpPort, none, type Port } from "./target-parts.ts";
import type { Pod } from "../../api/core/pod.ts";
import { stripMetadata } from "../../kube/cache/transforms.ts";
import { isDeepStrictEqual } from "node:util";
import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Change } from "../../kube/cache/cache.ts";

/** Keys of Services are `namespace/name`. */
export interface TargetView {
  readonly nodes: readonly Node[];
  /** Meshes in it may name the Services of every namespace. */
  readonly systemNamespace: string;
  service(key: string): Service | undefined;
  slices(key: string): readonly EndpointSlice[];
  /** Unset without a load balancer. */
  readonly announced?: AnnouncedServices | undefined;
}

type Target = ConnectivityMesh["spec"]["targets"][number];
/** The targets of one entry, or why there are none. */
export function targetsOf({ probe, ...target }: Target, namespace: string, view: TargetView): Found {
  const found = endpointsOf(target, namespace, view);
  const wanted = probe ?? (isExternal(target) ? fromRouter : undefined);
  return wanted && !isPlain(wanted) ? { ...found, targets: found.targets.map((one) => withProbe(one, wanted)) } : found;
}

/** Whether it names what nodes announce. */
export function isExternal({ service, announced }: Target): boolean {
  return service?.external === true || announced !== undefined;
}

/** Another request to the same endpoint is another target; another expectation is not. */
function withProbe(target: CheckTarget, probe: Probe): CheckTarget {
  const { type, from, vrf = "", host = "", path = "/" } = probe;
  const what = from === undefined ? `${type}/${host}${path}` : `${type}/${from}/${vrf}`;
  return {
    ...target,
    identity: `${target.identity}/${what}`,
    readable: `${target.readable}-${(from ?? type).toLowerCase()}`,
    probe,
  };
}

function endpointsOf(target: Target, namespace: string, view: TargetView): Found {
  if (target.service) {
    const key = `${target.service.namespace ?? namespace}/${target.service.name}`;
    if (target.service.external) {
      const allowed = key.startsWith(`${namespace}/`) || mayCheck(view.announced?.service(key), namespace, view);
      return allowed ? ofAnnouncedService(key, target.service.port, view.announced) : notAllowed(key, namespace);
    }
    // Every pod knows this Service.
    if (key === "default/kubernetes" || isAllowed(key, namespace, view)) return ofService(key, target.service.port, view);
    return notAllowed(key, namespace);
  }
  if (target.announced) return ofAllAnnounced(target.announced.selector, (service) => mayCheck(service, namespace, view), view.announced);
  if (target.endpoints) {
    const key = `${target.endpoints.namespace ?? namespace}/${target.endpoints.service}`;
    return isAllowed(key, namespace, view) ? ofEndpoints(key, target.endpoints.port, view) : notAllowed(key, namespace);
  }
  if (target.nodes) return ofNodes(target.nodes, view);
  return ofHost(target.host ?? "");
}

/** The status of a mesh reveals the addresses and open ports of what it names, which in another namespace requires permission. */
function isAllowed(key: string, namespace: string, view: TargetView): boolean {
  return key.startsWith(`${namespace}/`) || mayCheck(view.service(key), namespace, view);
}

function mayCheck(service: Service | undefined, namespace: string, { systemNamespace }: TargetView): boolean {
  if (namespace === systemNamespace) return true;
  return service !== undefined && (service.metadata.namespace === namespace || allowsMeshesOf(namespace, service));
}

/** The same for a Service that does not exist. */
function notAllowed(key: string, namespace: string): Found {
  return none(
    `Service ${key} does not exist, or does not allow meshes of namespace ${namespace}: annotate it with ${allowAnnotation}: ${namespace}`,
  );
}

function ofHost(host: string): Found {
  const parsed = parseTarget(host);
  if ("problem" in parsed) return none(parsed.problem);
  return { targets: [{ identity: `host/${host}`, readable: dashed(host), endpoint: host, what: "host" }] };
}

function ofService(key: string, port: Port, view: TargetView): Found {
  const service = view.service(key);
  if (!service) return none(`Service ${key} does not exist`);
  const { clusterIPs, clusterIP = "" } = service.spec;
  const addresses = (clusterIPs ?? [clusterIP]).filter((ip) => ip !== "" && ip !== "None");
  if (addresses.length === 0) return none(`Service ${key} has no cluster IP`);
  const ports = (service.spec.ports ?? []).filter(isTcpPort(port));
  if (ports.length === 0) return none(`Service ${key} has no TCP port${port === undefined ? "" : ` ${port}`}`);
  const name = key.slice(key.indexOf("/") + 1);
  const targets = addresses.flatMap((ip) =>
    ports.map(({ port: number }) => ({
      identity: `service/${key}/${number}/${familyOf(ip)}`,
      readable: `${name}-service-${number}`,
      endpoint: endpointOf(ip, number),
      what: `service/${key}`,
    })),
  );
  return { targets };
}

function ofEndpoints(key: string, port: Port, view: TargetView): Found {
  const service = view.service(key);
  if (!service) return none(`Service ${key} does not exist`);
  const names = new Set((service.spec.ports ?? []).filter(isTcpPort(port)).map(({ name }) => name ?? ""));
  const targets = view.slices(key).flatMap(({ addressType, endpoints, ports }) => {
    if (addressType === "FQDN") return [];
    // Only the slice has the number of a named port.
    const numbers = (ports ?? [])
      .filter(({ protocol, name }) => (protocol ?? "TCP") === "TCP" && names.has(name ?? ""))
      .flatMap(({ port: number }) => (number === undefined ? [] : [number]));
    return (endpoints ?? [])
      .filter(({ conditions }) => !conditions?.terminating)
      .flatMap((one) => one.addresses.flatMap((ip) => numbers.map((number) => ofEndpoint(key, one, ip, number))));
  });
  return targets.length > 0 ? { targets } : none(`Service ${key} has no endpoint with a TCP port${port === undefined ? "" : ` ${port}`}`);
}

function ofEndpoint(key: string, { addresses, nodeName, targetRef, conditions }: Endpoint, ip: string, port: number): CheckTarget {
  const { kind, name, namespace = key.slice(0, key.indexOf("/")) } = targetRef ?? {};
  const pod = kind === "Pod" && name !== undefined ? `${namespace}/${name}` : undefined;
  // A pod that keeps its name, of a StatefulSet or a node's own, is the same target with another address.
  const identity = pod !== undefined && addresses.length === 1 ? `${pod}/${port}/${familyOf(ip)}` : endpointOf(ip, port);
  return {
    identity: `endpoint/${identity}`,
    readable: `${pod === undefined ? `${dashed(key)}-${dashed(ip)}` : name}-${port}`,
    endpoint: endpointOf(ip, port),
    what: `endpoint/${key}`,
    ...(nodeName !== undefined && { node: nodeName }),
    ...(pod !== undefined && { pod }),
    ...(conditions?.ready === false && { isFailing: true }),
  };
}

function ofNodes({ selector, port }: NonNullable<Target["nodes"]>, { nodes }: TargetView): Found {
  const chosen = nodes.filter(({ metadata }) => selects(selector, metadata.labels ?? {}));
  if (chosen.length === 0) return none("no node matches the selector");
  const targets = chosen.flatMap(({ metadata: { name }, status }) =>
    (status?.addresses ?? [])
      .filter(({ type }) => type === "InternalIP")
      .map(({ address }) => ({
        identity: `node/${name}/${port}/${familyOf(address)}`,
        readable: `${name}-${port}`,
        endpoint: endpointOf(address, port),
        what: `node/${name}`,
        node: name,
      })),
  );
  return targets.length > 0 ? { targets } : none("no node has an internal address");
}

function dashed(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
}

/** Transforms that keep only what a mesh needs. */

export function stripPod({ metadata, spec: { nodeName }, status }: Pod): Pod {
  const { phase } = status ?? {};
  return {
    metadata: stripMetadata(metadata),
    spec: { ...(nodeName !== undefined && { nodeName }), containers: [] },
    ...(phase !== undefined && { status: { phase } }),
  };
}

export function stripService({ metadata, spec: { type, clusterIP, clusterIPs, ports } }: Service): Service {
  const allowed = metadata.annotations?.[allowAnnotation];
  return {
    metadata: { ...stripMetadata(metadata), ...(allowed !== undefined && { annotations: { [allowAnnotation]: allowed } }) },
    spec: { type, ...(clusterIP !== undefined && { clusterIP }), ...(clusterIPs && { clusterIPs }), ...(ports && { ports }) },
  };
}

export function stripSlice({ metadata, addressType, endpoints, ports }: EndpointSlice): EndpointSlice {
  return { metadata: stripMetadata(metadata), addressType, endpoints, ...(ports && { ports }) };
}

/** Changes that require planning a mesh again. */

/** The namespaces of its Services and endpoints. */
export function targetNamespaces({ metadata: { namespace = "" }, spec }: ConnectivityMesh): string[] {
  return spec.targets.flatMap((target) => {
    const named = isExternal(target) ? undefined : (target.service ?? target.endpoints);
    return named ? [named.namespace ?? namespace] : [];
  });
}

export function targetsNodes({ spec }: ConnectivityMesh): boolean {
  return spec.sources.nodes !== undefined || spec.targets.some(({ nodes }) => nodes !== undefined);
}

export function nodeChanged(change: Change<Node>): boolean {
  return change.type !== "updated" || !isDeepStrictEqual(readOfNode(change.old), readOfNode(change.object));
}

/** Results are ignored: thousands arrive every minute. */
export function checkChanged(change: Change<PodNetworkConnectivityCheck>): boolean {
  return change.type !== "updated" || !isDeepStrictEqual(readOfCheck(change.old), readOfCheck(change.object));
}

function readOfNode({ metadata, status }: Node): unknown[] {
  return [metadata.labels, status?.addresses];
}

function readOfCheck({ metadata: { labels, annotations, deletionTimestamp }, spec }: PodNetworkConnectivityCheck): unknown[] {
  return [labels, annotations, deletionTimestamp, spec];
}
