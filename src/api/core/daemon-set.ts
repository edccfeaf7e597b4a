import { builtinKind, type KubeObject } from "../kind.ts";
import type { LabelSelector } from "./label-selector.ts";

export interface DaemonSet extends KubeObject {
  spec: {
    selector: LabelSelector;
    template: { metadata?: { labels?: Record<string, string> }; spec?: { nodeSelector?: Record<string, string> } };
    updateStrategy?: { type?: "RollingUpdate" | "OnDelete" };
  };
  status?: {
    observedGeneration?: number;
    currentNumberScheduled: number;
    desiredNumberScheduled: number;
    numberMisscheduled: number;
    numberReady: number;
    numberAvailable?: number;
    updatedNumberScheduled?: number;
  };
}

export const DaemonSet = builtinKind<DaemonSet>({
  group: "apps",
  version: "v1",
  kind: "DaemonSet",
  plural: "daemonsets",
  scope: "Namespaced",
  shortNames: ["ds"],
});
