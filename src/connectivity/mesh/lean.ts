import type { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import type { Pod } from "../../api/core/pod.ts";
import type { Service } from "../../api/core/service.ts";
import type { ObjectMeta } from "../../api/kind.ts";

/** Of pods, Services and their endpoints only what a mesh is planned on. */

/** The Service that a slice belongs to, by name. */
export const serviceLabel = "kubernetes.io/service-name";

export function leanPod({ metadata, spec: { nodeName }, status }: Pod): Pod {
  const { phase } = status ?? {};
  return {
    metadata: lean(metadata),
    spec: { ...(nodeName !== undefined && { nodeName }), containers: [] },
    ...(phase !== undefined && { status: { phase } }),
  };
}

export function leanService({ metadata, spec: { type, clusterIP, clusterIPs, ports } }: Service): Service {
  return {
    metadata: lean(metadata),
    spec: { type, ...(clusterIP !== undefined && { clusterIP }), ...(clusterIPs && { clusterIPs }), ...(ports && { ports }) },
  };
}

export function leanSlice({ metadata, addressType, endpoints, ports }: EndpointSlice): EndpointSlice {
  return { metadata: lean(metadata), addressType, endpoints, ...(ports && { ports }) };
}

function lean({ name, namespace, uid, resourceVersion, labels }: ObjectMeta): ObjectMeta {
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(labels && { labels }),
  };
}
