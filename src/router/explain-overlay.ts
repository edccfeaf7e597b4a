import type { Component, Dependency, Fix, HealthStatement, Index, ObjectReader } from "../api/health.ts";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";

type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;
type Path = NonNullable<NonNullable<Status["overlay"]>["failing"]>[number];

/** The nodes that report a failing path to a node. */
const byFailingNode: Index<RouterNodeConfigurationStatus> = {
  kind: RouterNodeConfigurationStatus,
  of: ({ status }) => [...new Set((status?.overlay?.failing ?? []).map(({ node }) => node))],
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
 * Whether frames arrive at other nodes. A failing path has two ends: the cause is the end with more failing paths. The other end depends on it.
 */
export function explainOverlay(inputs: OverlayInputs): HealthStatement[] {
  const { node, status, dependencies } = inputs;
  if (!status.overlay) return [];
  const component = overlayComponent(node);
  const base = { component, domain: "router" as const };
  const paths = pathsOf(inputs);
  const [first] = paths.values();
  if (!first) return [{ ...base, health: "Healthy", dependencies }];
  const condition = status.conditions?.find(({ type }) => type === "OverlayReachable");
  const since = condition?.status === "False" ? condition.lastTransitionTime : undefined;
  const found = { ...base, ...(since !== undefined && { since }) };
  const worse = [...paths.keys()].filter((other) => isWorse(other, inputs, paths.size));
  if (worse.length === paths.size) {
    const others = worse.map((other): Dependency => ({ component: overlayComponent(other), as: "part" }));
    return [{ ...found, health: "Healthy", dependencies: [...dependencies, ...others] }];
  }
  const health = [...paths.values()].some(({ reason }) => reason !== "TooLarge" && reason !== "Loss") ? "Down" : "Degraded";
  return [{ ...found, health, reason: first.reason, message: messageOf(node, paths), dependencies, fix: fixOf(node, first) }];
}

/** By the other end, what this node reports, else what the other end reports. */
function pathsOf({ node, status, reader }: OverlayInputs): Map<string, Path> {
  const paths = new Map((status.overlay?.failing ?? []).map((path) => [path.node, path]));
  for (const { metadata, status: other } of reader.by(byFailingNode, node)) {
    const path = other?.overlay?.failing?.find((one) => one.node === node);
    if (path && !paths.has(metadata.name)) paths.set(metadata.name, path);
  }
  return paths;
}

/** Of two ends with as many failing paths, the one that comes first by name is the cause: one cause is enough. */
function isWorse(other: string, { node, namespace, status, reader }: OverlayInputs, count: number): boolean {
  const reporters = reader.by(byFailingNode, other).map(({ metadata }) => metadata.name);
  const own = reader.get(RouterNodeConfigurationStatus, `${namespace}/${other}`)?.status?.overlay?.failing ?? [];
  const ends = new Set([...reporters, ...own.map((path) => path.node)]);
  if (status.overlay?.failing?.some((path) => path.node === other)) ends.add(node);
  return ends.size > count || (ends.size === count && other < node);
}

function messageOf(node: string, paths: ReadonlyMap<string, Path>): string {
  const others = [...paths.keys()].sort();
  const named = others.slice(0, 5).join(", ") + (others.length > 5 ? ` and ${others.length - 5} more` : "");
  const [first] = paths.values();
  const { reason, vnis, message = "" } = first ?? {};
  if (paths.size === 1 && first?.node !== node) return message;
  if (reason === "NoAnswerInVNI")
    return `VNI ${vnis ?? "?"}: frames do not arrive between ${node} and ${named}; the underlay carries small packets`;
  if (reason === "NoEVPNRoute") return `VNI ${vnis ?? "?"}: EVPN routes do not pass between ${node} and ${named}`;
  if (reason === "NoPath") return `No answer on the underlay between ${node} and ${named}, not even to pings`;
  if (reason === "NoAnswer") return `No probe is answered between ${node} and ${named}, although pings are and the agents are alive`;
  return message;
}

function fixOf(node: string, { reason, vnis }: Path): Fix {
  const vni = /^\d+/.exec(vnis ?? "")?.[0];
  if (reason === "NoAnswerInVNI") {
    return {
      text: `check on ${node} what drops UDP port 4789, and at the switches whether they filter EVPN routes of ${node}`,
      command: `bridge -n perouter fdb show dev vni${vni ?? "VNI"}`,
    };
  }
  if (reason === "NoEVPNRoute") {
    return {
      text: `check whether the switches filter EVPN routes from or to ${node}, and the route targets of its VNIs`,
      command: `vtysh -N plumbline-router -c "show evpn vni ${vni ?? "VNI"}"`,
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
