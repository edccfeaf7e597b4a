import { Node } from "../api/core/node.ts";
import { type Explainer, explainer, type Standing } from "../api/health.ts";

/** What the cluster itself says of its nodes. */
export const nodeReady: Explainer = explainer(Node, ({ metadata: { name }, status }): Standing[] => {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const standing = { thing: { kind: "Node", name }, domain: "cluster" as const };
  if (!ready || ready.status === "True") return [{ ...standing, health: "Healthy" }];
  const { status: word, reason = "NodeNotReady", message = "The kubelet is not ready", lastTransitionTime: since } = ready;
  return [
    {
      ...standing,
      health: word === "False" ? "Down" : "Unknown",
      reason,
      message,
      ...(since !== undefined && { since }),
      remedy: { text: "see why its kubelet is not ready", command: `kubectl describe node ${name}` },
    },
  ];
});
