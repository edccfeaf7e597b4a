import type { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { type Endpoint, type EndpointSlice, serviceNameLabel } from "../../api/core/endpoint-slice.ts";
import type { Node } from "../../api/core/node.ts";
import type { Pod } from "../../api/core/pod.ts";
import type { Service, ServicePort } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { MeshView } from "../mesh/plan.ts";

/** Builders for tests. */

export const SYSTEM = "plumbline-system";

type Spec = ConnectivityMesh["spec"];

export function mesh(name: string, spec: Partial<Spec> & Pick<Spec, "targets">, namespace = "shop"): ConnectivityMesh {
  const metadata = { name, namespace, generation: 1, creationTimestamp: "2026-01-01T00:00:00Z" };
  return { metadata, spec: { sources: { pods: { selector: {} } }, sourcesPerTarget: "all", ...spec } };
}

export function pod(name: string, labels: Record<string, string> = {}, phase: "Running" | "Succeeded" | "Failed" = "Running"): Pod {
  return { metadata: { name, namespace: "shop", labels }, spec: { nodeName: `node-of-${name}`, containers: [] }, status: { phase } };
}

export function node(name: string, ...addresses: string[]): Node {
  return { metadata: { name }, spec: {}, status: { addresses: addresses.map((address) => ({ type: "InternalIP", address })) } };
}

export function service(key: string, ips: readonly string[], ...ports: readonly (Partial<ServicePort> & { port: number })[]): Service {
  const [namespace = "", name = ""] = key.split("/");
  const whole = ports.map((port) => Object.assign({ protocol: "TCP" as const }, port));
  return { metadata: { name, namespace }, spec: { type: "ClusterIP", clusterIPs: [...ips], ports: whole } };
}

/** The Service with the consent of its owner to meshes of these namespaces. */
export function allowing(namespaces: string, { metadata, ...given }: Service): Service {
  return { ...given, metadata: { ...metadata, annotations: { "plumbline.dev/allow-mesh-from": namespaces } } };
}

export function slice(key: string, ports: { name?: string; port: number }[], ...endpoints: Endpoint[]): EndpointSlice {
  const [namespace = "", name = ""] = key.split("/");
  const metadata = { name: `${name}-slice`, namespace, labels: { [serviceNameLabel]: name } };
  return { metadata, addressType: "IPv4", endpoints, ports };
}

export function ofPod(name: string, address: string, conditions: Endpoint["conditions"] = { ready: true }): Endpoint {
  const targetRef = { kind: "Pod", namespace: "shop", name };
  return { addresses: [address], nodeName: `node-of-${name}`, targetRef, ...(conditions && { conditions }) };
}

export interface Cluster {
  pods?: Pod[];
  nodes?: Node[];
  services?: Service[];
  slices?: EndpointSlice[];
}

export function view({ pods = [], nodes = [], services = [], slices = [] }: Cluster): MeshView {
  return {
    pods,
    nodes,
    systemNamespace: SYSTEM,
    service: (key) => services.find((one) => keyOf(one) === key),
    slices: (key) => slices.filter(({ metadata }) => `${metadata.namespace}/${metadata.labels?.[serviceNameLabel]}` === key),
  };
}

export function check(
  name: string,
  {
    spec,
    ...given
  }: Omit<Partial<PodNetworkConnectivityCheck>, "metadata"> & {
    metadata?: Partial<PodNetworkConnectivityCheck["metadata"]>;
  } = {},
): PodNetworkConnectivityCheck {
  return {
    ...given,
    metadata: { name, namespace: "shop", uid: `uid-of-${name}`, resourceVersion: "1", ...given.metadata },
    spec: { sourcePod: "web", targetEndpoint: "10.0.0.1:80", ...spec },
  };
}
