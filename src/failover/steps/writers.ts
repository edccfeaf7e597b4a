import { type LabelSelector, selects } from "../../api/core/label-selector.ts";
import type { Pod } from "../../api/core/pod.ts";
import { keyOf } from "../../api/kind.ts";
import { grouped, itemsOf, perObserved } from "./resources.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import type { Wait } from "../policy/failure.ts";

/**
 * A completed pod cannot write, and may stay forever. A pod that is being deleted may, whatever its phase, until it is gone: only then are
 * its volumes unmounted.
 */
function mayWrite({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined || (status?.phase !== "Succeeded" && status?.phase !== "Failed");
}

/** By mounted claim and by label. */
const writers = perObserved((observed: ObservedPolicy, namespace: string) => {
  const { items, waits } = itemsOf(observed.pods(namespace), "Pod", namespace);
  const all = items.filter(mayWrite);
  return {
    waits,
    all,
    byClaim: grouped(all, claimsOf),
    byLabel: grouped(all, ({ metadata: { labels = {} } }) => Object.entries(labels).map(([key, value]) => `${key}=${value}`)),
  };
});

interface Writers {
  readonly items: readonly Pod[];
  readonly waits: readonly Wait[];
}

export function allWriters(observed: ObservedPolicy, namespace: string): Writers {
  const { all, waits } = writers(observed, namespace);
  return { items: all, waits };
}

export function writersOn(observed: ObservedPolicy, namespace: string, claim: string): Writers {
  const { byClaim, waits } = writers(observed, namespace);
  return { items: byClaim.get(claim) ?? [], waits };
}

export function writersOf(observed: ObservedPolicy, namespace: string, selector: LabelSelector): Writers {
  const { all, byLabel, waits } = writers(observed, namespace);
  const [label] = Object.entries(selector.matchLabels ?? {});
  const candidates = label ? (byLabel.get(`${label[0]}=${label[1]}`) ?? []) : all;
  return { items: candidates.filter(({ metadata }) => selects(selector, metadata.labels ?? {})), waits };
}

function claimsOf({ metadata, spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim) return [persistentVolumeClaim.claimName];
    return ephemeral ? [`${metadata.name}-${name}`] : [];
  });
}

/** A kubelet reports the end of a pod with a delay. */
const LATE_MS = 5_000;

/** `why` is a part of the message: `belongs to Deployment web`. */
export function podWait(pod: Pod, why: string, now: Date): Wait {
  const { namespace, name } = pod.metadata;
  const { nodeName: node } = pod.spec;
  return {
    kind: "Pod",
    ...(namespace === undefined ? {} : { namespace }),
    name,
    message: `Pod ${keyOf(pod)} ${why} and ${lives(pod, now)}`,
    ...(node !== undefined && { node }),
    ...(isTerminating(pod, now) && { onTime: true }),
  };
}

function isTerminating({ metadata: { deletionTimestamp } }: Pod, now: Date): boolean {
  return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) + LATE_MS > now.getTime();
}

function lives(pod: Pod, now: Date): string {
  const {
    metadata: { deletionTimestamp, finalizers = [] },
    spec: { nodeName },
    status,
  } = pod;
  const where = nodeName === undefined ? "" : ` on node ${nodeName}`;
  if (deletionTimestamp === undefined) return nodeName === undefined ? "may start at any moment" : `runs${where}`;
  if (isTerminating(pod, now)) return `is terminating${where}, by ${deletionTimestamp} at the latest`;
  if (status?.phase === "Succeeded" || status?.phase === "Failed") {
    return `has ended${where}, but is not gone${finalizers.length > 0 ? `: finalizer ${finalizers.join(", ")} holds it` : ""}`;
  }
  const fix =
    nodeName === undefined ? "" : `; if that node is off, taint it node.kubernetes.io/out-of-service, and do not force the deletion`;
  return `should have ended by ${deletionTimestamp}${where}${fix}`;
}
