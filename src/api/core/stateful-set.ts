import { builtinKind, type KubeObject } from "../kind.ts";
import type { LabelSelector } from "./label-selector.ts";

export interface StatefulSet extends KubeObject {
  spec: {
    replicas?: number;
    serviceName?: string;
    selector: LabelSelector;
    podManagementPolicy?: "OrderedReady" | "Parallel";
    volumeClaimTemplates?: { metadata: { name: string } }[];
    persistentVolumeClaimRetentionPolicy?: { whenScaled?: "Retain" | "Delete"; whenDeleted?: "Retain" | "Delete" };
  };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    updatedReplicas?: number;
    currentReplicas?: number;
  };
}

export const StatefulSet = builtinKind<StatefulSet>({
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  scope: "Namespaced",
  shortNames: ["sts"],
});
