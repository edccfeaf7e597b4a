import { Node } from "../api/core/node.ts";
import { type Explainer, explainer, type HealthStatement } from "../api/health.ts";

/** What the cluster itself says of its nodes. */
export const nodeReady: Explainer = explainer(Node, ({ metadata: { name }, status }): HealthStatement[] => {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const statement = { component: { kind: "Node", name }, domain: "cluster" as const };
  if (!ready || ready.status === "True") return [{ ...statement, health: "Healthy" }];
  const { status: value, reason = "NodeNotReady", message = "The kubelet is not ready", lastTransitionTime: since } = ready;
  return [
    {
      ...statement,
      health: value === "False" ? "Down" : "Unknown",
      reason,
      message,
      ...(since !== undefined && { since }),
      fix: { text: "check the kubelet of the node", command: `kubectl describe node ${name}` },
    },
  ];
});
