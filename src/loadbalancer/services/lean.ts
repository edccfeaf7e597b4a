import type { Endpoint, EndpointSlice } from "../../api/core/endpoint-slice.ts";
import type { Namespace } from "../../api/core/namespace.ts";
import type { Node } from "../../api/core/node.ts";
import type { Secret } from "../../api/core/secret.ts";
import type { Service } from "../../api/core/service.ts";
import type { ObjectMeta } from "../../api/kind.ts";

/** Of the objects of a whole cluster an agent keeps only what it reads: they are many, and most of their changes are none of its business. */

export const serviceNameLabel = "kubernetes.io/service-name";

export function leanService({ metadata, spec, status }: Service): Service {
  const { type, loadBalancerClass, externalTrafficPolicy } = spec;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) => name.endsWith("/allow-shared-ip"));
  const ingress = status?.loadBalancer?.ingress?.flatMap(({ ip }) => (ip === undefined ? [] : [{ ip }]));
  return {
    metadata: { ...lean(metadata), ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }) },
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
    metadata: { ...lean(metadata), labels: service === undefined ? {} : { [serviceNameLabel]: service } },
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
  return { metadata: lean(metadata), spec: {}, status: { ...(addresses && { addresses }), ...(conditions && { conditions }) } };
}

export function leanNamespace({ metadata }: Namespace): Namespace {
  return { metadata: lean(metadata) };
}

export function leanSecret({ metadata, type, data }: Secret): Secret {
  const password = data?.["password"];
  return { metadata: lean(metadata), ...(type !== undefined && { type }), ...(password !== undefined && { data: { password } }) };
}

function lean({ name, namespace, uid, resourceVersion, labels, creationTimestamp }: ObjectMeta): ObjectMeta {
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(labels && { labels }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
  };
}
