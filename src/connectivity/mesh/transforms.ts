import type { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import type { Pod } from "../../api/core/pod.ts";
import type { Service } from "../../api/core/service.ts";
import { stripMetadata } from "../../kube/cache/transforms.ts";
import { allowAnnotation } from "../../api/annotations.ts";

/** Of pods, Services and their endpoints only what a mesh is planned on. */

export function stripPod({ metadata, spec: { nodeName }, status }: Pod): Pod {
  const { phase } = status ?? {};
  return {
    metadata: stripMetadata(metadata),
    spec: { ...(nodeName !== undefined && { nodeName }), containers: [] },
    ...(phase !== undefined && { status: { phase } }),
  };
}

export function stripService({ metadata, spec: { type, clusterIP, clusterIPs, ports } }: Service): Service {
  const allowed = metadata.annotations?.[allowAnnotation];
  return {
    metadata: { ...stripMetadata(metadata), ...(allowed !== undefined && { annotations: { [allowAnnotation]: allowed } }) },
    spec: { type, ...(clusterIP !== undefined && { clusterIP }), ...(clusterIPs && { clusterIPs }), ...(ports && { ports }) },
  };
}

export function stripSlice({ metadata, addressType, endpoints, ports }: EndpointSlice): EndpointSlice {
  return { metadata: stripMetadata(metadata), addressType, endpoints, ...(ports && { ports }) };
}
