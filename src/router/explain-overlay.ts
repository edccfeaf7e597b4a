import type { Component, Dependency, Fix, HealthStatement, Index, ObjectReader } from "../api/health.ts";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { joinFirst } from "../util/text.ts";

type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;
type Path = NonNullable<NonNullable<Status["overlay"]>["failing"]>[number];

/** The nodes that report a failing path to a node. */
const byFailingNode: Index<RouterNodeConfigurationStatus> = {
  kind: RouterNodeConfigurationStatus,
  of: ({ status }) => [...new Set((status?.overlay?.failing ?? []).map(({ node }) => node))],
};

const byUnobservedNode: Index<RouterNodeConfigurationStatus> = {
  kind: RouterNodeConfigurationStatus,
  of: ({ status }) => status?.overlay?.unobserved ?? [],
};

function overlayComponent(node: string): Component {
  return { kind: "Overlay", name: node, node };
}

interface OverlayInputs {
  readonly node: string;
  readonly namespace: string;
  readonly status: Status;
  readonly reader: ObjectReader;
  /** What the overlay of this node is built on. */
  readonly dependencies: readonly Dependency[];
}

/**
 * Whether frames arrive at other nodes. A failing path has two ends; the end that has more against it is named as the cause, and the other end depends on it.
 * Both ends are named until the evidence is in.
 */
export function explainOverlay(inputs: OverlayInputs): HealthStatement[] {
  const { node, status, dependencies } = inputs;
  if (!status.overlay) return [];
  const base = { component: overlayComponent(node), domain: "router" as const };
  const ends = failingEnds(inputs, node);
  if (ends.size === 0) return [{ ...base, ...explainUnobserved(inputs) }];
  const condition = status.conditions?.find(({ type }) => type === "OverlayReachable");
  const reported = condition?.status === "False" ? condition.lastTransitionTime : undefined;
  const since = [...ends.values()].flatMap((paths) => paths.flatMap((path) => path.since ?? [])).sort()[0] ?? reported;
  const found = { ...base, ...(since !== undefined && { since }) };
  const own = evidence(inputs, node);
  const worse = [...ends.keys()].filter((other) => moreAgainst(evidence(inputs, other), own) > 0);
  const others = worse.map((other): Dependency => ({ component: overlayComponent(other), as: "part" }));
  for (const other of worse) ends.delete(other);
  const paths = [...ends.values()].flat();
  if (paths.length === 0) return [{ ...found, health: "Healthy", dependencies: [...dependencies, ...others] }];
  const lowest = LAYERS.find((reason) => paths.some((path) => path.reason === reason)) ?? "Loss";
  const health = lowest === "TooLarge" || lowest === "Loss" || own.reached ? "Degraded" : "Down";
  const isCertain = ends.size > 1 && own.isIsolated && [...ends.keys()].every((other) => evidence(inputs, other).reached);
  const suspects = isCertain ? [node] : [node, ...ends.keys()];
  const message = messageOf(node, ends);
  return [{ ...found, health, reason: lowest, message, dependencies, fix: fixOf(joinFirst(suspects, 5), lowest, paths) }];
}

/** Paths that nobody observes may work or not. Of both ends the one with more such paths is named, as for failing ones. */
function explainUnobserved(inputs: OverlayInputs): Omit<HealthStatement, "component" | "domain"> {
  const { node, status, dependencies } = inputs;
  const ends = unobservedEnds(inputs, node);
  const worse = [...ends].filter((other) => {
    const count = unobservedEnds(inputs, other).size;
    return count > ends.size || (count === ends.size && other < node);
  });
  const own = [...ends].filter((other) => !worse.includes(other)).sort();
  const others = worse.map((other): Dependency => ({ component: overlayComponent(other), as: "part" }));
  if (own.length === 0) return { health: "Healthy", dependencies: [...dependencies, ...others] };
  const condition = status.conditions?.find(({ type }) => type === "OverlayReachable");
  const since = condition?.status === "Unknown" ? condition.lastTransitionTime : undefined;
  return {
    health: "Unknown",
    reason: "NotObserved",
    message: `Some paths between ${node} and ${joinFirst(own, 5)} have not been observed for a minute, although the agents are alive`,
    dependencies,
    ...(since !== undefined && { since }),
    fix: {
      text: `allow UDP port 47890 between the VTEPs, and check on ${node} whether another program has this port`,
      command: "ip netns exec perouter ss -lun",
    },
  };
}

function unobservedEnds({ namespace, reader }: Pick<OverlayInputs, "namespace" | "reader">, node: string): Set<string> {
  const own = reader.get(RouterNodeConfigurationStatus, `${namespace}/${node}`)?.status?.overlay?.unobserved ?? [];
  return new Set([...own, ...reader.by(byUnobservedNode, node).map(({ metadata }) => metadata.name)]);
}

/** From the lowest layer: what is built on it fails with it. */
const LAYERS = [
  "NoPath",
  "NoAnswer",
  "Loss",
  "TooLarge",
  "NoEVPNRoute",
  "NoRouterMAC",
  "NoAnswerInVNI",
] as const satisfies readonly Path["reason"][];

/** By the other end, what one of both ends reports. */
function failingEnds({ namespace, reader }: Pick<OverlayInputs, "namespace" | "reader">, node: string): Map<string, Path[]> {
  const own = reader.get(RouterNodeConfigurationStatus, `${namespace}/${node}`)?.status?.overlay?.failing ?? [];
  const ends = Map.groupBy(own, (path) => path.node);
  for (const { metadata, status: other } of reader.by(byFailingNode, node)) {
    const paths = other?.overlay?.failing?.filter((one) => one.node === node) ?? [];
    if (!ends.has(metadata.name)) ends.set(metadata.name, paths);
  }
  return ends;
}

interface Evidence {
  readonly node: string;
  /** None of its sessions with the fabric is up, or one of its links is down. */
  readonly isCutOff: boolean;
  /** It reports failing paths, and one that works. Without any failing path, its report may be from before the fault. */
  readonly reached: boolean;
  readonly isIsolated: boolean;
  readonly ends: number;
}

function evidence(inputs: OverlayInputs, node: string): Evidence {
  const {
    overlay,
    sessions = [],
    links = [],
  } = inputs.reader.get(RouterNodeConfigurationStatus, `${inputs.namespace}/${node}`)?.status ?? {};
  const fabric = sessions.filter(({ vrf }) => vrf === "default");
  const isReported = (overlay?.failing ?? []).length > 0;
  return {
    node,
    isCutOff: (fabric.length > 0 && fabric.every(({ state }) => state !== "Established")) || links.some(({ state }) => state !== "Up"),
    reached: isReported && (overlay?.reached ?? 0) > 0,
    isIsolated: isReported && overlay?.reached === 0,
    ends: failingEnds(inputs, node).size,
  };
}

/** Positive if there is more against the first. Names decide between equals: one cause is enough. */
function moreAgainst(one: Evidence, other: Evidence): number {
  return (
    Number(one.isCutOff) - Number(other.isCutOff) ||
    Number(other.reached) - Number(one.reached) ||
    one.ends - other.ends ||
    Number(one.isIsolated) - Number(other.isIsolated) ||
    (one.node < other.node ? 1 : -1)
  );
}

function messageOf(node: string, ends: ReadonlyMap<string, readonly Path[]>): string {
  const rows = [...ends].flatMap(([end, paths]) => paths.map((path) => ({ ...path, end })));
  const byReason = Map.groupBy(rows, ({ reason }) => reason);
  return LAYERS.flatMap((reason) => {
    const [first, ...more] = byReason.get(reason) ?? [];
    if (!first) return [];
    const others = [...new Set([first, ...more].map(({ end }) => end))].sort();
    return sentenceOf(reason, first, `between ${node} and ${joinFirst(others, 5)}`);
  }).join("; ");
}

function sentenceOf(reason: Path["reason"], { vnis = "?", message }: Path, between: string): string {
  if (reason === "NoAnswerInVNI") return `VNI ${vnis}: frames do not arrive ${between}; the underlay carries small packets`;
  if (reason === "NoEVPNRoute") return `VNI ${vnis}: EVPN routes do not pass ${between}`;
  if (reason === "NoRouterMAC") return `VNI ${vnis}: FRR knows no router MAC ${between}, so that packets of the VRF do not pass`;
  if (reason === "NoPath") return `No answer on the underlay ${between}, not even to pings`;
  if (reason === "NoAnswer") return `Probes get no answer ${between}, but pings do, and the agents are alive`;
  return `${message} (${between})`;
}

function fixOf(node: string, reason: Path["reason"], paths: readonly Path[]): Fix {
  const vni = /^\d+/.exec(paths.find((path) => path.reason === reason)?.vnis ?? "")?.[0];
  if (reason === "NoAnswerInVNI") {
    return {
      text: `check on ${node} what drops UDP port 4789, and at the switches whether they filter EVPN routes of ${node}`,
      command: `bridge -n perouter fdb show dev vni${vni ?? "VNI"}`,
    };
  }
  if (reason === "NoEVPNRoute") {
    return {
      text: `check whether the switches filter EVPN routes from or to ${node}, and the route targets of the VNIs`,
      command: `vtysh -N plumbline-router -c "show evpn vni ${vni ?? "VNI"}"`,
    };
  }
  if (reason === "NoRouterMAC") {
    return {
      text: `check on ${node} whether the switches filter prefixes of the VRF, and whether FRR has the router MACs of its routes`,
      command: `vtysh -N plumbline-router -c "show evpn rmac vni ${vni ?? "VNI"}"`,
    };
  }
  if (reason === "NoPath") return { text: "check routes and links between the VTEPs", command: "ip -n perouter route" };
  if (reason === "NoAnswer") return { text: "allow UDP port 47890 between the VTEPs" };
  if (reason === "TooLarge")
    return {
      text: "raise the MTU of the underlay interfaces and switch ports to that of the VNIs plus 50",
      command: "ip -n perouter link",
    };
  return { text: "check cables, optics and queues between the nodes", command: "ip -n perouter -s link" };
}
