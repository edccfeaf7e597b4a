import { Lease } from "../api/core/lease.ts";
import { CONTROLLER_LEASE } from "../kube/members/agent-lease.ts";
import { type Explainer, explainer, type HealthStatement } from "../api/health.ts";
import { Node } from "../api/core/node.ts";

/** Allows for clock skew, and for a Lease that another controller has just taken over. */
const PATIENCE_MS = 60_000;

/**
 * Whether a controller is leading now. The only explainer that needs a clock, because without a leader no status is written. Without a Lease there is no
 * election, as in `plumbline up`.
 */
export function leaderExplainer(now: number): Explainer {
  return explainer(Lease, ({ metadata, spec }): HealthStatement[] => {
    if (metadata.name !== CONTROLLER_LEASE) return [];
    const { holderIdentity, renewTime } = spec;
    const component = { kind: "Controller", name: "plumbline" };
    const hasHolder = holderIdentity !== undefined && holderIdentity !== "";
    if (hasHolder && (renewTime === undefined || now - Date.parse(renewTime) < PATIENCE_MS))
      return [{ component, domain: "cluster", health: "Healthy" }];
    return [
      {
        component,
        domain: "cluster",
        health: "Down",
        ownFault: true,
        reason: "NoLeader",
        message: hasHolder
          ? `No controller is leading: ${holderIdentity} has stopped renewing its Lease`
          : "No controller is leading: the last leader has stopped",
        ...(renewTime !== undefined && { since: renewTime }),
        fix: {
          text: "check that a controller runs and can reach the API server",
          command: `kubectl get pods -n ${metadata.namespace ?? ""} -l app.kubernetes.io/component=controller`,
        },
      },
    ];
  });
}

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
