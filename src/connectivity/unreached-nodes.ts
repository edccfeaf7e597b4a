import { EndpointSlice, serviceNameLabel } from "../api/core/endpoint-slice.ts";
import type { Index, Need, Sight, Thing } from "../api/health.ts";
import { isService, serviceOf } from "./analysis/hypotheses.ts";
import { distinct } from "./analysis/labels.ts";
import { type Said, serviceNamed } from "./analysis/check-result.ts";

/** Nodes where no check from another node reaches anything, and what is blamed for that. */
export type UnreachedNodes = ReadonlyMap<string, Thing>;

export const slicesOfService: Index<EndpointSlice> = {
  kind: EndpointSlice,
  of: ({ metadata: { namespace = "", labels } }) => {
    const name = labels?.[serviceNameLabel];
    return name === undefined ? [] : [`${namespace}/${name}`];
  },
};

/** Whether a check from another node reaches something on the node. */
export function isReached(node: string, all: readonly Said[]): boolean {
  return all.some(({ verdict, source, target }) => verdict === "reached" && target.node === node && source.node !== node);
}

/** For failing checks of Services: kube-proxy picks any endpoint for an attempt, also one on a node that is not reached. */
export function needsBehind(failing: readonly Said[], unreached: UnreachedNodes, sight: Sight): Need[] {
  if (unreached.size === 0) return [];
  const resolved = failing.filter(({ reason }) => reason !== "DNSError");
  const services = distinct(
    resolved.flatMap(({ target: { what, host } }) => (isService(what) ? serviceOf(what) : (serviceNamed(host) ?? []))),
  );
  const slices = services.flatMap((key) => sight.by(slicesOfService, key));
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
  return distinct(endpoints.flatMap(({ nodeName }) => nodeName ?? [])).flatMap((node) => {
    const thing = unreached.get(node);
    return thing ? [{ thing }] : [];
  });
}
