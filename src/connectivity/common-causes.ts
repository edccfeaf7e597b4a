import { Node } from "../api/core/node.ts";
import { PodNetworkConnectivityCheck } from "../api/connectivity/pod-network-connectivity-check.ts";
import type { ObjectReader, Component } from "../api/health.ts";
import { lastResultOf } from "./history/activity.ts";
import { type CommonCause, commonCauses } from "./analysis/common-cause.ts";
import { type CauseComponent, causeComponent, nodeOf } from "./explain-causes.ts";
import { retiredAnnotation } from "../api/annotations.ts";
import { zonesOf, type CheckResult, resultOf } from "./analysis/check-result.ts";
import { isReached, type UnreachedNodes } from "./unreached-nodes.ts";

export interface FailureAnalysis {
  readonly checks: readonly PodNetworkConnectivityCheck[];
  readonly nodes: readonly Node[];
  readonly results: ReadonlyMap<string, CheckResult>;
  readonly blames: ReadonlyMap<string, Blamed>;
  readonly unreached: UnreachedNodes;
}

/** The cause of a check. One of the checks that it explains reports it for all. */
interface Blamed {
  readonly blame: CommonCause;
  readonly causeComponent: CauseComponent;
  readonly speaks: boolean;
}

/** Returns the analysis of what a reader reads. All failing checks share it until a check or a node changes. */
export function failureAnalysis(): (reader: ObjectReader) => FailureAnalysis {
  let latest: FailureAnalysis | undefined;
  return (reader) => {
    const [checks, nodes] = [reader.all(PodNetworkConnectivityCheck), reader.all(Node)];
    if (!latest || !areSame(latest.checks, checks) || !areSame(latest.nodes, nodes)) latest = analysisOf(checks, nodes);
    return latest;
  };
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, nth) => one === others[nth]);
}

function analysisOf(checks: FailureAnalysis["checks"], nodes: FailureAnalysis["nodes"]): FailureAnalysis {
  const zones = zonesOf(nodes);
  const wanted = checks.filter(({ metadata }) => metadata.annotations?.[retiredAnnotation] === undefined);
  // As of its last result: staleness is reported elsewhere.
  const results = wanted.map((check) => resultOf(check, zones, lastResultOf(check) ?? 0));
  const blames = new Map<string, Blamed>();
  const unreached = new Map<string, Component>();
  for (const one of commonCauses(results)) {
    const cause = causeComponent(one);
    const explained = one.failing.filter(({ check }) => !blames.has(check));
    if (!cause) continue;
    for (const [nth, { check }] of explained.entries()) blames.set(check, { blame: one, causeComponent: cause, speaks: nth === 0 });
    const node = one.cause && nodeOf(one.cause, one.failing);
    if (node !== undefined && cause.component.kind !== "Source" && !isReached(node, results)) unreached.set(node, cause.component);
  }
  return { checks, nodes, results: new Map(results.map((one) => [one.check, one])), blames, unreached };
}
