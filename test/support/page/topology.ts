import type { TimelineRow, TopologyRow, VniRow } from "../../../src/web/api.ts";
import { ago, ROUTER_NAMESPACE } from "./health.ts";

/** Up to so many nodes share two switches. */
const RACK = 25;

export function topologyRows(nodes: readonly { name: string; bad: boolean }[]): (TopologyRow | VniRow)[] {
  const vnis = [100, 200, 1100, 1200].map((vni, at): VniRow => {
    const [kind, name] = [at < 2 ? "L3VNI" : "L2VNI", ["red", "blue", "red-web", "blue-web"][at] ?? ""];
    return { type: "vni", key: `vni/${kind}/${ROUTER_NAMESPACE}/${name}`, vni, layer: at < 2 ? "L3" : "L2", name };
  });
  return [...nodes.map((node, at) => topologyRow(node, at, nodes)), ...vnis];
}

function topologyRow(
  { name, bad }: { name: string; bad: boolean },
  at: number,
  all: readonly { name: string; bad: boolean }[],
): TopologyRow {
  const rack = Math.floor(at / RACK);
  const sessions = [1, 2].map((tor) => ({
    id: `Session/10.0.${rack}.${tor}@${name}`,
    neighbor: `10.0.${rack}.${tor}`,
    state: bad && tor === 1 ? "Active" : "Established",
    health: bad && tor === 1 ? ("Down" as const) : ("Healthy" as const),
    since: ago(bad && tor === 1 ? 4 : 2_000),
  }));
  const others = [1, 2, 3].map((step) => all[(at + step * 7) % all.length]?.name ?? "").filter((other) => other !== name);
  const failing = others.map((node) => ({
    node,
    reason: "NoAnswerInVNI",
    vnis: "1100",
    message: `VNI 1100: no answer from ${node}, ${node} is not in the flood list`,
  }));
  return {
    type: "router",
    key: `router/${ROUTER_NAMESPACE}/${name}`,
    id: `RouterNodeConfigurationStatus/${ROUTER_NAMESPACE}/${name}`,
    node: name,
    health: bad ? "Down" : "Healthy",
    ...(bad && { since: ago(4), vnisDown: "1100" }),
    vtep: `100.65.${at >> 8}.${at & 255}`,
    sessions,
    vnis: at % 3 === 2 ? "100,1100" : "100,200,1100,1200",
    overlay: { health: bad ? "Down" : "Healthy", probed: 18, ...(bad && { since: ago(3.9) }), failing: bad ? failing : [] },
  };
}

const check = (at: number) => ({ kind: "PodNetworkConnectivityCheck", namespace: "plumbline-system", name: `node1-to-node${at + 2}` });

export function timelineRows(bad: readonly string[], entries = 0): TimelineRow[] {
  const links = bad.map((node) => ({ kind: "Link", name: "eth1", node }));
  const base = { type: "entry", health: "Healthy" } as const;
  const l2vni = { kind: "L2VNI", namespace: ROUTER_NAMESPACE, name: "red-web" };
  const found: Omit<TimelineRow, "key">[] = [
    { ...base, time: ago(1_500), what: "changed", source: "object", reason: "Created", components: [l2vni], count: 1 },
    {
      ...base,
      time: ago(44),
      what: "failed",
      source: "outage",
      health: "Down",
      message: "connect ETIMEDOUT 10.0.0.2:8080",
      components: Array.from({ length: 20 }, (_, at) => check(at)),
      count: 41,
    },
    {
      ...base,
      time: ago(33),
      what: "fixed",
      source: "outage",
      components: Array.from({ length: 20 }, (_, at) => check(at)),
      count: 41,
      since: ago(44),
    },
    {
      ...base,
      time: ago(20),
      what: "changed",
      source: "object",
      reason: "Changed",
      message: "spec changed (generation 4)",
      components: [l2vni],
      count: 1,
    },
    {
      ...base,
      time: ago(12),
      what: "fixed",
      source: "event",
      reason: "DriftRepaired",
      message: "Node node3: Configuration drift repaired: 1 link change",
      components: [{ ...l2vni, node: "node3" }],
      count: 1,
    },
    ...(links.length > 0
      ? [
          {
            ...base,
            time: ago(4),
            what: "failed" as const,
            source: "health" as const,
            health: "Down" as const,
            reason: "NoCarrier",
            message: "Interface eth1 has no carrier",
            components: links.slice(0, 20),
            count: links.length,
          },
        ]
      : []),
    ...Array.from({ length: entries }, (_, at) => ({
      ...base,
      time: ago(60 + at),
      what: (["failed", "fixed", "changed"] as const)[at % 3] ?? "changed",
      source: "event" as const,
      reason: "DriftRepaired",
      message: `Node node${(at % 500) + 1}: Configuration drift repaired: ${at} FRR lines`,
      components: [{ ...l2vni, node: `node${(at % 500) + 1}` }],
      count: 1,
    })),
  ];
  return found.map((row, at) => Object.assign(row, { key: `entry/${at + 1}` }));
}
