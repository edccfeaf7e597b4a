import { type Endpoint, type EndpointSlice, serviceNameLabel } from "../../api/core/endpoint-slice.ts";
import type { Namespace } from "../../api/core/namespace.ts";
import type { Node } from "../../api/core/node.ts";
import type { Secret } from "../../api/core/secret.ts";
import type { Service } from "../../api/core/service.ts";
import { stripMetadata } from "../../kube/cache/transforms.ts";

/** An agent caches only the fields it reads: a cluster has many objects, and most changes are not relevant to it. */

export function stripService({ metadata, spec, status }: Service): Service {
  const { type, loadBalancerClass, externalTrafficPolicy } = spec;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) => name.endsWith("/allow-shared-ip"));
  const ingress = status?.loadBalancer?.ingress?.flatMap(({ ip }) => (ip === undefined ? [] : [{ ip }]));
  return {
    metadata: { ...stripMetadata(metadata), ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }) },
    spec: {
      type,
      ...(loadBalancerClass !== undefined && { loadBalancerClass }),
      ...(externalTrafficPolicy !== undefined && { externalTrafficPolicy }),
    },
    ...(ingress && { status: { loadBalancer: { ingress } } }),
  };
}

export function stripSlice({ metadata, addressType, endpoints }: EndpointSlice): EndpointSlice {
  const service = metadata.labels?.[serviceNameLabel];
  return {
    metadata: { ...stripMetadata(metadata), labels: service === undefined ? {} : { [serviceNameLabel]: service } },
    addressType,
    endpoints: endpoints?.map(stripEndpoint) ?? [],
  };
}

function stripEndpoint({ addresses, conditions: { ready, serving } = {}, nodeName }: Endpoint): Endpoint {
  return {
    // Only whether there is one matters.
    addresses: addresses.length > 0 ? [""] : [],
    conditions: { ...(ready !== undefined && { ready }), ...(serving !== undefined && { serving }) },
    ...(nodeName !== undefined && { nodeName }),
  };
}

export function stripNode({ metadata, status = {} }: Node): Node {
  const addresses = status.addresses?.filter(({ type }) => type === "InternalIP");
  const conditions = status.conditions?.filter(({ type }) => type === "NetworkUnavailable").map(({ type, status }) => ({ type, status }));
  return { metadata: stripMetadata(metadata), spec: {}, status: { ...(addresses && { addresses }), ...(conditions && { conditions }) } };
}

export function stripNamespace({ metadata }: Namespace): Namespace {
  return { metadata: stripMetadata(metadata) };
}

export function stripSecret({ metadata, type, data }: Secret): Secret {
  const password = data?.["password"];
  return { metadata: stripMetadata(metadata), ...(type !== undefined && { type }), ...(password !== undefined && { data: { password } }) };
}
