import { builtinKind, type KubeObject } from "../kind.ts";

export interface Node extends KubeObject {
  spec: {
    podCIDRs?: string[];
    providerID?: string;
    unschedulable?: boolean;
    taints?: { key: string; value?: string; effect: string }[];
  };
  status?: {
    addresses?: { type: "InternalIP" | "ExternalIP" | "Hostname" | "InternalDNS" | "ExternalDNS"; address: string }[];
    conditions?: {
      type: string;
      status: "True" | "False" | "Unknown";
      reason?: string;
      message?: string;
      lastTransitionTime?: string;
    }[];
  };
}

export const Node = builtinKind<Node>({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  scope: "Cluster",
  shortNames: ["no"],
});
