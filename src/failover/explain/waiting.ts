import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { Need, Standing } from "../../api/health.ts";
import { agentOn } from "../../kube/members/agent-health.ts";
import type { Trouble } from "../explaining/trouble.ts";

/** A switch that waits for what does not come by itself: a volume that does not arrive, a pod that should have ended. */
export function waiting({ metadata, status = {} }: FailoverPolicy): Trouble[] {
  const { transition } = status;
  if (transition?.completionTime !== undefined) return [];
  const step = transition?.steps.find(({ state, waitingFor }) => state !== "Done" && waitingFor);
  const wait = step?.waitingFor;
  if (!step || !wait || !isStuck(wait)) return [];
  const { kind, namespace, name, message, since } = wait;
  const node = / on(?: to)? node ([a-z0-9.-]+)| attached to node ([a-z0-9.-]+)/.exec(message)?.slice(1).find(Boolean);
  const needs: Need[] = node === undefined ? [] : [{ thing: agentOn(node) }, { thing: { kind: "Node", name: node } }];
  const about: Standing = {
    thing: { kind, ...(namespace !== undefined && { namespace }), name },
    domain: "failover",
    health: "Degraded",
    reason: "WaitedFor",
    message,
    ...(since !== undefined && { since }),
    needs,
    remedy: {
      text: REMEDIES[kind] ?? "see why it does not come about",
      change: { thing: { kind, ...(namespace !== undefined && { namespace }), name } },
      command: `plumbline failover plan ${metadata.name} -n ${metadata.namespace}`,
    },
  };
  return [{ word: { reason: step.name, message: status.summary ?? message }, about: [about] }];
}

const REMEDIES: Readonly<Record<string, string>> = {
  Pod: "see why it does not end, on its node; where that node is known to be off, taint it node.kubernetes.io/out-of-service",
  VolumeReplication:
    "check that the csi-addons controller runs, and what the storage driver reports in the status and Events of the VolumeReplication",
  VolumeGroupReplication: "see whether the storage driver works at the group, in the status and Events of its VolumeReplication",
  VolumeAttachment: "see why the volume is not detached: whether its node answers",
};

/** What only takes its time is no trouble: a pod within its grace period, the other site on its way. One that nobody has told to end is. */
function isStuck({ kind, message }: { kind: string; message: string }): boolean {
  if (kind === "Pod") return !/ is terminating[^;]*, by \S+ at the latest/.test(message);
  return (
    kind === "VolumeReplication" ||
    kind === "VolumeGroupReplication" ||
    kind === "VolumeAttachment" ||
    / cannot be (read|listed): /.test(message)
  );
}
