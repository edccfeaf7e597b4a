import { type PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { keyOf } from "../../api/kind.ts";
import { lastResultOf } from "../history/activity.ts";
import { fromStatus } from "../history/from-status.ts";
import { historyState } from "../history/reduce.ts";
import { nodeAnnotation, probeAnnotation, sourceNodeAnnotation, targetAnnotation, targetNodeAnnotation } from "../../api/annotations.ts";
import { parseProbedTarget } from "../probe/target.ts";
import { NO_RESULT_MS } from "../history/stale.ts";
import { failureText } from "./labels.ts";
import type { Node } from "../../api/core/node.ts";

export interface Zones {
  readonly zoneOf: (node: string) => string | undefined;
  readonly nodeAt: (address: string) => string | undefined;
  readonly nodeOfPod: (pod: string) => string | undefined;
}

export interface ResultSource {
  readonly kind: "pod" | "node";
  readonly name: string;
  readonly node?: string;
  readonly zone?: string;
}

export interface ResultTarget {
  readonly endpoint: string;
  readonly host: string;
  readonly port: string;
  readonly hostType: "IPv4" | "IPv6" | "name";
  /** `service/shop/web`, `endpoint/shop/web`, `node/n2` or `host`. */
  readonly what: string;
  readonly node?: string;
  readonly zone?: string;
}

export interface CheckResult {
  readonly check: string;
  readonly source: ResultSource;
  readonly target: ResultTarget;
  readonly verdict: "reached" | "failed" | "unknown";
  /** Reached, but not at all of its addresses. */
  readonly isPartial?: true;
  /** The condition's reason, normalized to our names. */
  readonly reason: string;
  readonly message: string;
  /** The cause alone: `No route to host`. */
  readonly why: string;
  readonly since: number;
}

export function resultOf(check: PodNetworkConnectivityCheck, zones: Zones, now: number): CheckResult {
  const { status, reason, message, since, isPartial } = historyState(fromStatus(check.status, now)).verdict;
  const about = { check: keyOf(check), source: whoTries(check, zones), target: whatIsTried(check, zones) };
  const reportedAt = lastResultOf(check) ?? since;
  // The condition may be outdated: the controller may not have run to mark it.
  if (status !== "Unknown" && now - reportedAt > NO_RESULT_MS)
    return { ...about, verdict: "unknown", reason: "Stale", message: "Its source has not reported since", why: "", since: reportedAt };
  if (status === "Unknown") return { ...about, verdict: "unknown", reason, message, why: "", since };
  if (status === "True") return { ...about, verdict: "reached", ...(isPartial && { isPartial }), reason, message, why: "", since };
  return { ...about, verdict: "failed", reason, message, why: failureText(message), since };
}

function whoTries(check: PodNetworkConnectivityCheck, zones: Zones): ResultSource {
  const { annotations = {}, namespace = "" } = check.metadata;
  const own = annotations[nodeAnnotation];
  if (own !== undefined) return { kind: "node", name: own, ...at(own, zones) };
  const name = `${namespace}/${sourceOf(check)}`;
  return { kind: "pod", name, ...at(annotations[sourceNodeAnnotation] ?? zones.nodeOfPod(name), zones) };
}

function whatIsTried({ metadata, spec: { targetEndpoint } }: PodNetworkConnectivityCheck, zones: Zones): ResultTarget {
  const { annotations = {} } = metadata;
  const parsed = parseProbedTarget(targetEndpoint, annotations[probeAnnotation]);
  if ("problem" in parsed) return { endpoint: targetEndpoint, host: targetEndpoint, port: "", hostType: "name", what: "host" };
  const { host, port, text, address } = parsed;
  const hostType = address ? (address.family === 4 ? "IPv4" : "IPv6") : "name";
  const node = annotations[targetNodeAnnotation] ?? zones.nodeAt(host);
  const service = serviceNamed(host);
  const what = annotations[targetAnnotation] ?? (service === undefined ? "host" : `service/${service}`);
  return { endpoint: text, host, port: String(port), hostType, what, ...at(node, zones) };
}

/** `shop/web` for `web.shop.svc`, as Services are called within a cluster. */
export function serviceNamed(host: string): string | undefined {
  const [, name, namespace] = /^([^.]+)\.([^.]+)\.svc(?:\.|$)/.exec(host) ?? [];
  return name === undefined ? undefined : `${namespace}/${name}`;
}

function at(node: string | undefined, { zoneOf }: Zones): { node?: string; zone?: string } {
  if (node === undefined || node === "") return {};
  const zone = zoneOf(node);
  return { node, ...(zone !== undefined && { zone }) };
}

const ZONE = "topology.kubernetes.io/zone";

export function zonesOf(nodes: readonly Node[]): Zones {
  const zones = new Map(nodes.map(({ metadata: { name, labels } }) => [name, labels?.[ZONE]]));
  const addresses = new Map(
    nodes.flatMap(({ metadata: { name }, status }) => (status?.addresses ?? []).map(({ address }) => [address, name] as const)),
  );
  return { zoneOf: (node) => zones.get(node), nodeAt: (address) => addresses.get(address), nodeOfPod: () => undefined };
}
