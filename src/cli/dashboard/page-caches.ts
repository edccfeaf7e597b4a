import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import { Event } from "../../api/core/event.ts";
import { Node } from "../../api/core/node.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { ConfigurationStatus } from "../../api/metallb/configuration-status.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { EXPLAINED_KINDS, type ConfigNamespaces } from "../../explain/explainers.ts";
import type { Cache, CacheOptions } from "../../kube/cache/cache.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { endpointNodes } from "../../loadbalancer/controller/announced-controller.ts";
import { configurationStatusName } from "../../loadbalancer/status/configuration-status.ts";
import { serviceReports } from "../../loadbalancer/status/status-kinds.ts";
import { visibleCheckRow } from "../../web/rows/connectivity.ts";
import { stripNodeStatus } from "../shared/controller-components.ts";

/**
 * The page's caches, in the form that the controller already uses, so that nothing is watched twice. Checks are the exception: the
 * controller keeps only a few of their fields. The manager does not wait for them.
 */
export function pageCaches(manager: Manager, namespaces: ConfigNamespaces): Cache<KubeObject>[] {
  return [
    ...EXPLAINED_KINDS.map((kind) => manager.lateCache<KubeObject>(kind, optionsFor(kind, namespaces))),
    ...OUR_EVENTS.map((options) => manager.lateCache<Event>(Event, options) as unknown as Cache<KubeObject>),
  ];
}

/** A field selector has no "or". */
const OUR_EVENTS: readonly CacheOptions<Event>[] = ["plumbline-agent", "plumbline-controller"].map((component) => ({
  fieldSelector: `reportingComponent=${component}`,
}));

function optionsFor(kind: Kind, { routerNamespace, metallbNamespace }: ConfigNamespaces): CacheOptions<KubeObject> {
  if (kind.group === "openpe.openperouter.github.io") return { namespace: routerNamespace };
  switch (kind) {
    case ConfigurationStatus:
      return { namespace: metallbNamespace, fieldSelector: `metadata.name=${configurationStatusName}` };
    case ServiceBGPStatus:
    case ServiceL2Status:
      return serviceReports;
    case EndpointSlice:
      return endpointNodes as unknown as CacheOptions<KubeObject>;
    case Node:
      return { transform: stripNodeStatus } as unknown as CacheOptions<KubeObject>;
    case PodNetworkConnectivityCheck:
      return { transform: visibleCheckRow } as unknown as CacheOptions<KubeObject>;
    default:
      return kind.group === "metallb.io" ? { namespace: metallbNamespace } : {};
  }
}
