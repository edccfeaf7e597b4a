import { nodeAnnotation } from "../api/annotations.ts";
import { type PodNetworkConnectivityCheck, sourceOf } from "../api/connectivity/pod-network-connectivity-check.ts";

type Check = PodNetworkConnectivityCheck;

/** Undefined if the source is a pod. */
export function nodeOf({ metadata }: Check, systemNamespace: string): string | undefined {
  return metadata.namespace === systemNamespace ? metadata.annotations?.[nodeAnnotation] : undefined;
}

/** `namespace/name`. */
export function podOf(check: Check): string {
  return `${check.metadata.namespace}/${sourceOf(check)}`;
}

export function sourceIndexes(systemNamespace: string): Record<"node" | "pod", (check: Check) => string[]> {
  return {
    node: (check) => [nodeOf(check, systemNamespace)].filter((node) => node !== undefined),
    pod: (check) => (nodeOf(check, systemNamespace) === undefined ? [podOf(check)] : []),
  };
}
