import type { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import type { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import { readAddress } from "./read-address.ts";
import type { ServiceView } from "./service-view.ts";

/** Both are read; the first wins. */
const SHARING = ["metallb.io/allow-shared-ip", "metallb.universe.tf/allow-shared-ip"];

/** The view that announcing needs. `slices` are those of the Service. */
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
 * Ready ones; and where no node has one, those that still serve while they end. A node whose last endpoint begins to end is left while that still
 * serves, so that nobody is sent there when it is gone.
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
