import { Lease } from "../api/core/lease.ts";
import { CONTROLLER_LEASE } from "../kube/members/agent-lease.ts";
import { type Explainer, explainer, type Standing } from "../api/health.ts";

/** Two clocks may differ by this much, and a Lease that another has just taken over is not told of. */
const PATIENCE_MS = 60_000;

/**
 * Whether a controller leads, at this moment. The one statement that needs a clock, because nobody is left to write a status: so it is for one look at a
 * cluster, from outside. Where there is no Lease there is no election, as in `plumbline up`.
 */
export function controllerLeads(now: number): Explainer {
  return explainer(Lease, ({ metadata, spec }): Standing[] => {
    if (metadata.name !== CONTROLLER_LEASE) return [];
    const { holderIdentity, renewTime } = spec;
    const thing = { kind: "Controller", name: "plumbline" };
    const isHeld = holderIdentity !== undefined && holderIdentity !== "";
    if (isHeld && (renewTime === undefined || now - Date.parse(renewTime) < PATIENCE_MS))
      return [{ thing, domain: "cluster", health: "Healthy" }];
    return [
      {
        thing,
        domain: "cluster",
        health: "Down",
        ownFault: true,
        reason: "NoLeader",
        message: isHeld
          ? `No controller leads: ${holderIdentity} no longer renews its Lease`
          : "No controller leads: the last one has ended",
        ...(renewTime !== undefined && { since: renewTime }),
        remedy: {
          text: "see why no controller runs, or why it does not reach the API server",
          command: `kubectl get pods -n ${metadata.namespace ?? ""} -l app.kubernetes.io/component=controller`,
        },
      },
    ];
  });
}
