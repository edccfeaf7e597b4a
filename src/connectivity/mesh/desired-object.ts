import { type PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { fittingName, LONGEST } from "../../api/object-name.ts";
import { nodeAnnotation, nodeLabel } from "../../kube/members/agent-lease.ts";
import { checkpointMark, meshMark, retiredMark, sourceNodeMark, targetMark, targetNodeMark } from "../../api/annotations.ts";
import type { WantedCheck } from "./desired-check.ts";

type Marks = Record<string, string>;
type Changes = Record<string, string | null>;

/** A check as its mesh wants it. */
export interface WantedObject {
  readonly metadata: { readonly labels: Marks; readonly annotations: Marks };
  readonly spec: { readonly sourcePod: string; readonly targetEndpoint: string };
}

export interface CheckPatch {
  metadata?: { labels?: Changes; annotations?: Changes };
  spec?: Changes;
}

export function wantedObject({ source, target }: WantedCheck, mesh: string, checkpointSeconds: number): WantedObject {
  const isNode = source.kind === "node";
  return {
    metadata: {
      labels: { [meshMark]: fittingName(mesh, LONGEST.label), ...(isNode && { [nodeAnnotation]: nodeLabel(source.name) }) },
      annotations: {
        [meshMark]: mesh,
        [checkpointMark]: String(checkpointSeconds),
        [sourceNodeMark]: source.node,
        [targetMark]: target.what,
        ...(target.node !== undefined && { [targetNodeMark]: target.node }),
        ...(isNode && { [nodeAnnotation]: source.name }),
      },
    },
    spec: { sourcePod: source.name, targetEndpoint: target.endpoint },
  };
}

/** What makes the check that is held into the one that is wanted; undefined when it is that already. What others wrote on it stays. */
export function patchOf(held: PodNetworkConnectivityCheck, { metadata, spec }: WantedObject): CheckPatch | undefined {
  const labels = changes(held.metadata.labels, metadata.labels, []);
  const annotations = changes(held.metadata.annotations, metadata.annotations, [targetNodeMark, retiredMark]);
  const patch: CheckPatch = {};
  if (labels || annotations) patch.metadata = { ...(labels && { labels }), ...(annotations && { annotations }) };
  const { targetEndpoint } = held.spec;
  if (sourceOf(held) !== spec.sourcePod) patch.spec = { sourcePod: spec.sourcePod, sourcePodName: null };
  if (targetEndpoint !== spec.targetEndpoint) patch.spec = { ...patch.spec, targetEndpoint: spec.targetEndpoint };
  return patch.metadata || patch.spec ? patch : undefined;
}

/** `ours` are those that go when they are not wanted. */
function changes(held: Marks = {}, wanted: Marks, ours: readonly string[]): Changes | undefined {
  const set = Object.entries(wanted).filter(([mark, value]) => held[mark] !== value);
  const cleared = ours.filter((mark) => held[mark] !== undefined && wanted[mark] === undefined).map((mark): [string, null] => [mark, null]);
  const all = [...set, ...cleared];
  return all.length > 0 ? Object.fromEntries(all) : undefined;
}
