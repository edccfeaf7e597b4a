import type { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import type { Pod } from "../../api/core/pod.ts";
import type { Service } from "../../api/core/service.ts";
import { leanMetadata } from "../../kube/cache/transforms.ts";
import { allowMark } from "../../api/annotations.ts";

/** Of pods, Services and their endpoints only what a mesh is planned on. */

export function leanPod({ metadata, spec: { nodeName }, status }: Pod): Pod {
  const { phase } = status ?? {};
  return {
    metadata: leanMetadata(metadata),
    spec: { ...(nodeName !== undefined && { nodeName }), containers: [] },
    ...(phase !== undefined && { status: { phase } }),
  };
}

export function leanService({ metadata, spec: { type, clusterIP, clusterIPs, ports } }: Service): Service {
  const allowed = metadata.annotations?.[allowMark];
  return {
    metadata: { ...leanMetadata(metadata), ...(allowed !== undefined && { annotations: { [allowMark]: allowed } }) },
    spec: { type, ...(clusterIP !== undefined && { clusterIP }), ...(clusterIPs && { clusterIPs }), ...(ports && { ports }) },
  };
}

export function leanSlice({ metadata, addressType, endpoints, ports }: EndpointSlice): EndpointSlice {
  return { metadata: leanMetadata(metadata), addressType, endpoints, ...(ports && { ports }) };
}
