import { type PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { objectName, MAX_NAME_LENGTH } from "../../api/object-name.ts";
import { nodeAnnotation, nodeLabel } from "../../kube/members/agent-lease.ts";
import {
  checkpointAnnotation,
  meshAnnotation,
  retiredAnnotation,
  sourceNodeAnnotation,
  targetAnnotation,
  targetNodeAnnotation,
} from "../../api/annotations.ts";
import type { DesiredCheck } from "./desired-check.ts";

type Marks = Record<string, string>;
type Changes = Record<string, string | null>;

export interface DesiredObject {
  readonly metadata: { readonly labels: Marks; readonly annotations: Marks };
  readonly spec: { readonly sourcePod: string; readonly targetEndpoint: string };
}

export interface CheckPatch {
  metadata?: { labels?: Changes; annotations?: Changes };
  spec?: Changes;
}

export function desiredObject({ source, target }: DesiredCheck, mesh: string, checkpointSeconds: number): DesiredObject {
  const isNode = source.kind === "node";
  return {
    metadata: {
      labels: { [meshAnnotation]: objectName(mesh, MAX_NAME_LENGTH.label), ...(isNode && { [nodeAnnotation]: nodeLabel(source.name) }) },
      annotations: {
        [meshAnnotation]: mesh,
        [checkpointAnnotation]: String(checkpointSeconds),
        [sourceNodeAnnotation]: source.node,
        [targetAnnotation]: target.what,
        ...(target.node !== undefined && { [targetNodeAnnotation]: target.node }),
        ...(isNode && { [nodeAnnotation]: source.name }),
      },
    },
    spec: { sourcePod: source.name, targetEndpoint: target.endpoint },
  };
}

/** Undefined if nothing changes. Fields of others stay. */
export function patchOf(existing: PodNetworkConnectivityCheck, { metadata, spec }: DesiredObject): CheckPatch | undefined {
  const labels = changes(existing.metadata.labels, metadata.labels, []);
  const annotations = changes(existing.metadata.annotations, metadata.annotations, [targetNodeAnnotation, retiredAnnotation]);
  const patch: CheckPatch = {};
  if (labels || annotations) patch.metadata = { ...(labels && { labels }), ...(annotations && { annotations }) };
  const { targetEndpoint } = existing.spec;
  if (sourceOf(existing) !== spec.sourcePod) patch.spec = { sourcePod: spec.sourcePod, sourcePodName: null };
  if (targetEndpoint !== spec.targetEndpoint) patch.spec = { ...patch.spec, targetEndpoint: spec.targetEndpoint };
  return patch.metadata || patch.spec ? patch : undefined;
}

/** `ours` are removed when they are not wanted. */
function changes(existing: Marks = {}, wanted: Marks, ours: readonly string[]): Changes | undefined {
  const set = Object.entries(wanted).filter(([mark, value]) => existing[mark] !== value);
  const cleared = ours
    .filter((mark) => existing[mark] !== undefined && wanted[mark] === undefined)
    .map((mark): [string, null] => [mark, null]);
  const all = [...set, ...cleared];
  return all.length > 0 ? Object.fromEntries(all) : undefined;
}
