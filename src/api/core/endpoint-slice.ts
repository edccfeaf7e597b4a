import { builtinKind, type KubeObject } from "../kind.ts";

export interface Endpoint {
  addresses: string[];
  /** An absent condition reads as: ready yes, serving as ready says, terminating no. */
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
  hostname?: string;
  nodeName?: string;
  zone?: string;
  targetRef?: { kind?: string; name?: string; namespace?: string; uid?: string };
}

/** The label that names the Service which a slice belongs to. */
export const serviceNameLabel = "kubernetes.io/service-name";

export interface EndpointSlice extends KubeObject {
  addressType: "IPv4" | "IPv6" | "FQDN";
  /** The API server prints null where a slice has none. */
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
