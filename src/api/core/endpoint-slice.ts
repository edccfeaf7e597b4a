import { builtinKind, type KubeObject } from "../kind.ts";

export interface Endpoint {
  addresses: string[];
  /** If unset: ready is true, serving equals ready, terminating is false. */
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
  hostname?: string;
  nodeName?: string;
  zone?: string;
  targetRef?: { kind?: string; name?: string; namespace?: string; uid?: string };
}

/** Names the Service of a slice. */
export const serviceNameLabel = "kubernetes.io/service-name";

export interface EndpointSlice extends KubeObject {
  addressType: "IPv4" | "IPv6" | "FQDN";
  /** The API server returns null for none. */
  endpoints: Endpoint[] | null;
  ports?: { name?: string; protocol?: string; port?: number; appProtocol?: string }[] | null;
}

export const EndpointSlice = builtinKind<EndpointSlice>({
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  scope: "Namespaced",
});
