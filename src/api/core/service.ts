import { builtinKind, type Condition, type KubeObject } from "../kind.ts";

export interface ServicePort {
  name?: string;
  protocol: "TCP" | "UDP" | "SCTP";
  port: number;
  targetPort?: number | string;
  nodePort?: number;
  appProtocol?: string;
}

export interface LoadBalancerIngress {
  ip?: string;
  hostname?: string;
  ipMode?: "VIP" | "Proxy";
  ports?: { port: number; protocol: string; error?: string }[];
}

export interface Service extends KubeObject {
  spec: {
    type: "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName";
    clusterIP?: string;
    clusterIPs?: string[];
    externalIPs?: string[];
    ipFamilies?: ("IPv4" | "IPv6")[];
    ipFamilyPolicy?: "SingleStack" | "PreferDualStack" | "RequireDualStack";
    ports?: ServicePort[];
    selector?: Record<string, string>;
    loadBalancerIP?: string;
    loadBalancerClass?: string;
    loadBalancerSourceRanges?: string[];
    allocateLoadBalancerNodePorts?: boolean;
    externalTrafficPolicy?: "Cluster" | "Local";
    internalTrafficPolicy?: "Cluster" | "Local";
    healthCheckNodePort?: number;
    publishNotReadyAddresses?: boolean;
    sessionAffinity?: "None" | "ClientIP";
  };
  status?: {
    loadBalancer?: { ingress?: LoadBalancerIngress[] };
    conditions?: Condition[];
  };
}

/** The condition of a Service of type LoadBalancer: whether a node announces its addresses. */
export const announcedType = "metallb.io/Announced";

export const Service = builtinKind<Service>({
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  scope: "Namespaced",
  shortNames: ["svc"],
});
