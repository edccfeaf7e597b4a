import { builtinKind, type KubeObject } from "../kind.ts";

export interface HorizontalPodAutoscaler extends KubeObject {
  spec: {
    scaleTargetRef: { apiVersion?: string; kind: string; name: string };
    minReplicas?: number;
    maxReplicas: number;
    behavior?: { scaleUp?: { selectPolicy?: "Max" | "Min" | "Disabled" } };
  };
}

export const HorizontalPodAutoscaler = builtinKind<HorizontalPodAutoscaler>({
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  scope: "Namespaced",
  shortNames: ["hpa"],
});
