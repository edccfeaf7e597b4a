import { isDeepStrictEqual } from "node:util";
import type { Service } from "../../api/core/service.ts";
import type { Address } from "../../ip/address.ts";

/** The addresses in a Service's status and the pool in its annotation. */
export interface PublishedAddresses {
  readonly pool?: string;
  readonly addresses: readonly Address[];
}

const POOL = "metallb.io/ip-allocated-from-pool";
const PREFIXES = ["metallb.io/", "metallb.universe.tf/"];
const REQUESTS = new Set(["loadBalancerIPs", "address-pool"].flatMap((name) => PREFIXES.map((prefix) => prefix + name)));

/** The pool that the Service's addresses were allocated from. */
export function annotatedPool({ metadata }: Service): string | undefined {
  return metadata.annotations?.[POOL];
}

/** The status patch that publishes these addresses; undefined if they are published. */
export function patchFor(service: Service, { addresses, pool }: PublishedAddresses): object | undefined {
  const ips = addresses.map(String);
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  const status = isDeepStrictEqual(
    ingress.map(({ ip }) => ip),
    ips,
  )
    ? undefined
    : { loadBalancer: { ingress: ips.length > 0 ? ips.map((ip) => ({ ip })) : null } };
  const annotations = annotatedPool(service) === pool ? undefined : { [POOL]: pool ?? null };
  if (!status && !annotations) return undefined;
  return { ...(annotations && { metadata: { annotations } }), ...(status && { status }) };
}

/** The Service without its explicit requests. */
export function withoutRequests(service: Service): Service {
  const annotations = Object.fromEntries(Object.entries(service.metadata.annotations ?? {}).filter(([name]) => !REQUESTS.has(name)));
  return { ...service, spec: { ...service.spec, loadBalancerIP: "" }, metadata: { ...service.metadata, annotations } };
}
