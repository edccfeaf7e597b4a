import { type Address, addressOf } from "../../ip/address.ts";
import type { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import type { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { Node } from "../../api/core/node.ts";

export interface ServiceView {
  readonly key: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** From status.loadBalancer.ingress, in its order; invalid addresses are skipped. */
  readonly addresses: readonly Address[];
  readonly local: boolean;
  readonly sharingKey?: string;
  /** Ready, or still serving while they terminate. */
  readonly endpoints: { readonly any: boolean; readonly nodes: ReadonlySet<string> };
}

export interface NodeView {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly addresses?: readonly string[];
  readonly networkUnavailable: boolean;
  /** node.kubernetes.io/exclude-from-external-load-balancers, unless it is to be ignored. */
  readonly excluded: boolean;
}

/** An IPv4-mapped IPv6 address is that IPv4 address, as for the API server and MetalLB; undefined if the text is no address. */
export function readAddress(text: string): Address | undefined {
  const address = addressOf(text);
  return address?.mappedIPv4 ?? address;
}

/** Both are read; the first wins. */
const SHARING = ["metallb.io/allow-shared-ip", "metallb.universe.tf/allow-shared-ip"];

export function readService(service: Service, slices: Iterable<EndpointSlice>): ServiceView {
  const { metadata, spec, status } = service;
  const sharingKey = SHARING.map((annotation) => metadata.annotations?.[annotation]).find((value) => value !== undefined && value !== "");
  return {
    key: keyOf(service),
    uid: metadata.uid ?? "",
    labels: metadata.labels ?? {},
    addresses: (status?.loadBalancer?.ingress ?? []).flatMap(({ ip = "" }) => readAddress(ip) ?? []),
    local: spec.externalTrafficPolicy === "Local",
    ...(sharingKey !== undefined && { sharingKey }),
    endpoints: usable(slices),
  };
}

/**
 * Ready endpoints; if no node has one, those that still serve while they terminate. A node whose last endpoint terminates is not used any more, so
 * that no traffic arrives after it is gone.
 */
function usable(slices: Iterable<EndpointSlice>): ServiceView["endpoints"] {
  const [ready, ending] = [new Set<string>(), new Set<string>()];
  let any = false;
  for (const { endpoints } of slices) {
    for (const { addresses, conditions = {}, nodeName } of endpoints ?? []) {
      const isReady = conditions.ready !== false;
      if (addresses.length === 0 || !(isReady || conditions.serving === true)) continue;
      any = true;
      if (nodeName !== undefined) (isReady ? ready : ending).add(nodeName);
    }
  }
  return { any, nodes: ready.size > 0 ? ready : ending };
}

const EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers";

export function readNode({ metadata, status }: Node, { ignoreExclude }: { ignoreExclude: boolean }): NodeView {
  const labels = metadata.labels ?? {};
  const addresses = status?.addresses?.filter(({ type }) => type === "InternalIP" || type === "ExternalIP").map(({ address }) => address);
  return {
    name: metadata.name,
    labels,
    ...(addresses && { addresses }),
    networkUnavailable: status?.conditions?.some(({ type, status: holds }) => type === "NetworkUnavailable" && holds === "True") ?? false,
    // Its presence counts, with any value.
    excluded: !ignoreExclude && Object.hasOwn(labels, EXCLUDED),
  };
}

/** The first IPv4 address that the cluster knows the node by. */
export function internalIPv4({ status }: Node): string | undefined {
  return status?.addresses?.find(({ type, address }) => type === "InternalIP" && !address.includes(":"))?.address;
}
