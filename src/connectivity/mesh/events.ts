import { isDeepStrictEqual } from "node:util";
import type { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Node } from "../../api/core/node.ts";
import type { Change } from "../../kube/cache/cache.ts";

/** Which changes a mesh must be planned for again. */

/** Where its Services and endpoints are. */
export function targetNamespaces({ metadata: { namespace = "" }, spec }: ConnectivityMesh): string[] {
  return spec.targets.flatMap(({ service, endpoints }) => {
    const named = service ?? endpoints;
    return named ? [named.namespace ?? namespace] : [];
  });
}

export function targetsNodes({ spec }: ConnectivityMesh): boolean {
  return spec.sources.nodes !== undefined || spec.targets.some(({ nodes }) => nodes !== undefined);
}

export function nodeChanged(change: Change<Node>): boolean {
  return change.type !== "updated" || !isDeepStrictEqual(readOfNode(change.old), readOfNode(change.object));
}

/** Results are none: thousands of them come in every minute. */
export function checkChanged(change: Change<PodNetworkConnectivityCheck>): boolean {
  return change.type !== "updated" || !isDeepStrictEqual(readOfCheck(change.old), readOfCheck(change.object));
}

function readOfNode({ metadata, status }: Node): unknown[] {
  return [metadata.labels, status?.addresses];
}

function readOfCheck({ metadata: { labels, annotations, deletionTimestamp }, spec }: PodNetworkConnectivityCheck): unknown[] {
  return [labels, annotations, deletionTimestamp, spec];
}
