import type { Pod } from "../api/core/pod.ts";
import { keyOf } from "../api/kind.ts";
import type { Wait } from "./step.ts";

/**
 * Whether a pod may still write. One that ran to its end may not, and it stays where nobody removes it: whoever waited for that would wait for ever.
 * One that is being deleted may, whatever its phase, until it is gone: only then are its volumes unmounted.
 */
export function mayWrite({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined || (status?.phase !== "Succeeded" && status?.phase !== "Failed");
}

export function mounts(pod: Pod, claim: string): boolean {
  return (pod.spec.volumes ?? []).some(
    ({ name, persistentVolumeClaim, ephemeral }) =>
      persistentVolumeClaim?.claimName === claim || (ephemeral !== undefined && `${pod.metadata.name}-${name}` === claim),
  );
}

/** A wait for the end of a pod, because of what `why` says of it: `belongs to Deployment web`. */
export function podWait(pod: Pod, why: string, now: Date): Wait {
  const { namespace, name } = pod.metadata;
  return {
    kind: "Pod",
    ...(namespace === undefined ? {} : { namespace }),
    name,
    message: `Pod ${keyOf(pod)} ${why} and ${lives(pod, now)}`,
  };
}

function lives({ metadata: { deletionTimestamp, finalizers = [] }, spec: { nodeName }, status }: Pod, now: Date): string {
  const where = nodeName === undefined ? "" : ` on node ${nodeName}`;
  if (deletionTimestamp === undefined) return nodeName === undefined ? "may start at any moment" : `runs${where}`;
  if (Date.parse(deletionTimestamp) > now.getTime()) return `is terminating${where}, by ${deletionTimestamp} at the latest`;
  if (status?.phase === "Succeeded" || status?.phase === "Failed") {
    return `has ended${where}, but is not gone${finalizers.length > 0 ? `: finalizer ${finalizers.join(", ")} holds it` : ""}`;
  }
  const remedy =
    nodeName === undefined
      ? ""
      : `; if that node is known to be off, taint it node.kubernetes.io/out-of-service, and do not force the deletion`;
  return `should have ended by ${deletionTimestamp}${where}${remedy}`;
}
