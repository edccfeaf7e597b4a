import { type PodNetworkConnectivityCheck, sourceOf } from "../api/connectivity/pod-network-connectivity-check.ts";
import { nodeAnnotation } from "../kube/members/agent-lease.ts";

type Check = PodNetworkConnectivityCheck;

/** The node that tries the check; undefined where a pod does. */
export function nodeOf({ metadata }: Check, systemNamespace: string): string | undefined {
  return metadata.namespace === systemNamespace ? metadata.annotations?.[nodeAnnotation] : undefined;
}

/** `namespace/name` of the pod that does otherwise. */
export function podOf(check: Check): string {
  return `${check.metadata.namespace}/${sourceOf(check)}`;
}

/** How checks are found by who tries them. */
export function sourceIndexes(systemNamespace: string): Record<"node" | "pod", (check: Check) => string[]> {
  return {
    node: (check) => [nodeOf(check, systemNamespace)].filter((node) => node !== undefined),
    pod: (check) => (nodeOf(check, systemNamespace) === undefined ? [podOf(check)] : []),
  };
}
