import { EndpointSlice, serviceNameLabel } from "../api/core/endpoint-slice.ts";
import type { Index, Dependency, ObjectReader, Component } from "../api/health.ts";
import { isService, serviceOf } from "./analysis/hypotheses.ts";
import { distinct } from "./analysis/labels.ts";
import { type CheckResult, serviceNamed } from "./analysis/check-result.ts";

/** Nodes where no check from another node reaches anything, with the cause. */
export type UnreachedNodes = ReadonlyMap<string, Component>;

export const slicesOfService: Index<EndpointSlice> = {
  kind: EndpointSlice,
  of: ({ metadata: { namespace = "", labels } }) => {
    const name = labels?.[serviceNameLabel];
    return name === undefined ? [] : [`${namespace}/${name}`];
  },
};

export function isReached(node: string, all: readonly CheckResult[]): boolean {
  return all.some(({ verdict, source, target }) => verdict === "reached" && target.node === node && source.node !== node);
}

/** For failing checks of Services: kube-proxy picks any endpoint, also one on an unreachable node. */
export function dependenciesBehind(failing: readonly CheckResult[], unreached: UnreachedNodes, reader: ObjectReader): Dependency[] {
  if (unreached.size === 0) return [];
  const resolved = failing.filter(({ reason }) => reason !== "DNSError");
  const services = distinct(
    resolved.flatMap(({ target: { what, host } }) => (isService(what) ? serviceOf(what) : (serviceNamed(host) ?? []))),
  );
  const slices = services.flatMap((key) => reader.by(slicesOfService, key));
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
  return distinct(endpoints.flatMap(({ nodeName }) => nodeName ?? [])).flatMap((node) => {
    const component = unreached.get(node);
    return component ? [{ component }] : [];
  });
}
