import { builtinKind, type KubeObject } from "../kind.ts";
import type { LabelSelector } from "./label-selector.ts";

export interface Deployment extends KubeObject {
  spec: {
    replicas?: number;
    paused?: boolean;
    selector: LabelSelector;
  };
  /** The counts leave out terminating pods. */
  status?: {
    observedGeneration?: number;
    replicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    updatedReplicas?: number;
    terminatingReplicas?: number;
  };
}

export const Deployment = builtinKind<Deployment>({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  scope: "Namespaced",
  shortNames: ["deploy"],
});
