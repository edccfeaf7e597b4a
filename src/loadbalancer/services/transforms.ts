import { type Endpoint, type EndpointSlice, serviceNameLabel } from "../../api/core/endpoint-slice.ts";
import type { Namespace } from "../../api/core/namespace.ts";
import type { Node } from "../../api/core/node.ts";
import type { Secret } from "../../api/core/secret.ts";
import type { Service } from "../../api/core/service.ts";
import { leanMetadata } from "../../kube/cache/transforms.ts";

/** Of the objects of a whole cluster an agent keeps only what it reads: they are many, and most of their changes are none of its business. */

export function leanService({ metadata, spec, status }: Service): Service {
  const { type, loadBalancerClass, externalTrafficPolicy } = spec;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) => name.endsWith("/allow-shared-ip"));
  const ingress = status?.loadBalancer?.ingress?.flatMap(({ ip }) => (ip === undefined ? [] : [{ ip }]));
  return {
    metadata: { ...leanMetadata(metadata), ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }) },
    spec: {
      type,
      ...(loadBalancerClass !== undefined && { loadBalancerClass }),
      ...(externalTrafficPolicy !== undefined && { externalTrafficPolicy }),
    },
    ...(ingress && { status: { loadBalancer: { ingress } } }),
  };
}

export function leanSlice({ metadata, addressType, endpoints }: EndpointSlice): EndpointSlice {
  const service = metadata.labels?.[serviceNameLabel];
  return {
    metadata: { ...leanMetadata(metadata), labels: service === undefined ? {} : { [serviceNameLabel]: service } },
    addressType,
    endpoints: endpoints?.map(leanEndpoint) ?? [],
  };
}

function leanEndpoint({ addresses, conditions: { ready, serving } = {}, nodeName }: Endpoint): Endpoint {
  return {
    // That there is one is all that counts.
    addresses: addresses.length > 0 ? [""] : [],
    conditions: { ...(ready !== undefined && { ready }), ...(serving !== undefined && { serving }) },
    ...(nodeName !== undefined && { nodeName }),
  };
}

export function leanNode({ metadata, status = {} }: Node): Node {
  const addresses = status.addresses?.filter(({ type }) => type === "InternalIP");
  const conditions = status.conditions?.filter(({ type }) => type === "NetworkUnavailable").map(({ type, status }) => ({ type, status }));
  return { metadata: leanMetadata(metadata), spec: {}, status: { ...(addresses && { addresses }), ...(conditions && { conditions }) } };
}

export function leanNamespace({ metadata }: Namespace): Namespace {
  return { metadata: leanMetadata(metadata) };
}

export function leanSecret({ metadata, type, data }: Secret): Secret {
  const password = data?.["password"];
  return { metadata: leanMetadata(metadata), ...(type !== undefined && { type }), ...(password !== undefined && { data: { password } }) };
}
