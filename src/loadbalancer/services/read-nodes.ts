import type { Node } from "../../api/core/node.ts";
import type { NodeView } from "./service-view.ts";

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
