import { builtinKind, type KubeObject } from "../kind.ts";

export interface Pod extends KubeObject {
  spec: {
    nodeName?: string;
    affinity?: {
      nodeAffinity?: {
        requiredDuringSchedulingIgnoredDuringExecution?: {
          nodeSelectorTerms?: { matchFields?: { key: string; operator: string; values?: string[] }[] }[];
        };
      };
    };
    hostNetwork?: boolean;
    terminationGracePeriodSeconds?: number;
    volumes?: { name: string; persistentVolumeClaim?: { claimName: string; readOnly?: boolean }; ephemeral?: object }[];
    containers: {
      name: string;
      ports?: { name?: string; containerPort: number; hostPort?: number; protocol?: string }[];
    }[];
  };
  status?: {
    phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
    reason?: string;
    message?: string;
    hostIP?: string;
    podIP?: string;
    podIPs?: { ip: string }[];
    startTime?: string;
    conditions?: { type: string; status: "True" | "False" | "Unknown"; reason?: string; message?: string }[];
  };
}

export const Pod = builtinKind<Pod>({
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  scope: "Namespaced",
  shortNames: ["po"],
});
