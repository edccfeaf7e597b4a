import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { Dependency, HealthStatement } from "../../api/health.ts";
import { agentComponent } from "../../kube/members/agent-health.ts";
import type { PolicyProblem } from "./trouble.ts";

/** A switch that waits for what does not come by itself: a volume that does not arrive, a pod that should have ended. */
export function waiting({ metadata, status = {} }: FailoverPolicy): PolicyProblem[] {
  const { transition } = status;
  if (transition?.completionTime !== undefined) return [];
  const step = transition?.steps.find(({ state, waitingFor }) => state !== "Done" && waitingFor);
  const wait = step?.waitingFor;
  // The controller has a clock, and says so while the step is within its usual time.
  if (!step || !wait || wait.onTime || !isStuck(wait)) return [];
  const { kind, namespace, name, message, since } = wait;
  const node = / on(?: to)? node ([a-z0-9.-]+)| attached to node ([a-z0-9.-]+)/.exec(message)?.slice(1).find(Boolean);
  const dependencies: Dependency[] =
    node === undefined ? [] : [{ component: agentComponent(node) }, { component: { kind: "Node", name: node } }];
  const about: HealthStatement = {
    component: { kind, ...(namespace !== undefined && { namespace }), name },
    domain: "failover",
    health: "Degraded",
    reason: "Waiting",
    message,
    ...(since !== undefined && { since }),
    dependencies,
    fix: {
      text: STEP_FIXES[step.name] ?? FIXES[kind] ?? "check why the step does not finish",
      change: { component: { kind, ...(namespace !== undefined && { namespace }), name } },
      command: `plumbline failover plan ${metadata.name} -n ${metadata.namespace}`,
    },
  };
  return [{ word: { reason: step.name, message: status.summary ?? message }, about: [about] }];
}

const STEP_FIXES: Readonly<Record<string, string>> = {
  AwaitCopy:
    "check the replication link between the storages, and that the csi-addons controller runs; while the link is down, only a forced switch at the other site works, and it loses what was not copied",
};

const FIXES: Readonly<Record<string, string>> = {
  Pod: "check on its node why it does not end; if the node is off, taint it node.kubernetes.io/out-of-service",
  VolumeReplication:
    "check that the csi-addons controller runs, and what the storage driver reports in the status and Events of the VolumeReplication",
  VolumeGroupReplication: "check what the storage driver reports in the status and Events of the group's VolumeReplication",
  VolumeAttachment: "check why the volume is not detached, and whether its node is up",
};

/** A pod within its grace period, or another site that is still switching, is not stuck. A pod that is not being deleted is. */
function isStuck({ kind, message }: { kind: string; message: string }): boolean {
  if (kind === "Pod") return !/ is terminating[^;]*, by \S+ at the latest/.test(message);
  return (
    kind === "VolumeReplication" ||
    kind === "VolumeGroupReplication" ||
    kind === "VolumeAttachment" ||
    / cannot be (read|listed): /.test(message)
  );
}
