import type { Health } from "../../../src/api/health.ts";
import type {
  CauseRow,
  MatrixCellRow,
  CheckRow,
  NodeRow,
  PoolRow,
  RouterRow,
  ServiceRow,
  SessionsRow,
  HealthCount,
} from "../../../src/web/api.ts";
import { ago, linkOf, ROUTER_NAMESPACE, serviceHealth, sessionOf, underlayOf } from "./health.ts";

export const SPINES = ["spine-a", "spine-b", "spine-c", "spine-d"];

export function healthCount(total: number, down: number): HealthCount {
  return { Healthy: Math.max(0, total - down * 2), Degraded: down, Unknown: 0, Down: down };
}

export function nodeRow(name: string, bad: boolean): NodeRow {
  const cell = (health: Health): MatrixCellRow => ({ health, tally: healthCount(6, bad ? 1 : 0), ...(bad && { since: ago(4) }) });
  return {
    type: "node",
    key: `node/${name}`,
    name,
    health: bad ? "Down" : "Healthy",
    ...(bad && { since: ago(4), message: "eth1 is down" }),
    cells: {
      router: cell(bad ? "Down" : "Healthy"),
      loadbalancer: cell(bad ? "Degraded" : "Healthy"),
      connectivity: cell(bad ? "Unknown" : "Healthy"),
      cluster: cell(bad ? "Degraded" : "Healthy"),
    },
  };
}

export function causeRow(node: string, services: number): CauseRow {
  const symptoms = [
    underlayOf(node),
    sessionOf(node),
    ...Array.from({ length: Math.min(4, services) }, (_, at) => serviceHealth(at * 9 + 4)),
  ];
  const link = linkOf(node);
  return {
    type: "cause",
    key: `cause/${link.id}`,
    verdict: link,
    health: "Down",
    since: ago(4),
    symptoms,
    symptomCount: symptoms.length + 3,
  };
}

export function routerRow(node: string, bad: boolean): RouterRow {
  return {
    type: "router",
    key: `router/${node}`,
    id: `RouterNodeConfigurationStatus/${ROUTER_NAMESPACE}/${node}`,
    node,
    health: bad ? "Down" : "Healthy",
    ...(bad && { reason: "SessionsDown", message: "Interface eth1 has no carrier; 2 of 3 sessions are down", since: ago(4) }),
    resources: { applied: bad ? 5 : 6, total: 6 },
    sessions: { up: bad ? 1 : 3, total: 3 },
    vnis: { up: bad ? 2 : 4, total: 4 },
    failed: bad ? [{ kind: "L3VNI", name: "blue", reason: "ValidationFailed" }] : [],
  };
}

export function pools(): PoolRow[] {
  return [
    pool("edge", ["203.0.113.0/24"], 41, 215, [12, 2 ** 64 - 12]),
    pool("public", ["198.51.100.0/28"], 15, 1),
    pool("legacy", ["192.0.2.8/29"], 8, 0),
  ];
}

export function serviceRow(at: number, nodes: readonly string[], bad: boolean): ServiceRow {
  const l2 = at % 3 === 2 ? nodes[at % nodes.length] : undefined;
  const [namespace, name] = ["shop", `web-${at}`];
  return {
    type: "service",
    key: `service/${namespace}/${name}`,
    id: `Service/${namespace}/${name}`,
    namespace,
    name,
    addresses: [`203.0.113.${(at % 250) + 1}`],
    pool: at % 7 === 0 ? "public" : "edge",
    health: bad ? "Degraded" : "Healthy",
    ...(bad && { reason: "PartlyAnnounced", message: "node2 does not announce it: its sessions are down", since: ago(3.7) }),
    bgp: l2 === undefined ? { count: nodes.length, nodes: nodes.slice(0, 4) } : { count: 0, nodes: [] },
    ...(l2 !== undefined && { l2: { node: l2, interfaces: ["eth1"] } }),
  };
}

export function sessionsRow(node: string, bad: boolean): SessionsRow {
  const peers = SPINES.map((peer, at) => {
    const down = bad && at < 2;
    return [
      peer,
      {
        id: `BGPPeer/metallb-system/${peer}@${node}`,
        bgp: down ? "Active" : "Established",
        bfd: down ? "Down" : "Up",
        health: down ? ("Down" as const) : ("Healthy" as const),
        since: ago(bad ? 4 : 900),
      },
    ];
  });
  return { type: "sessions", key: `sessions/${node}`, node, health: bad ? "Down" : "Healthy", peers: Object.fromEntries(peers) };
}

export function checkRow(source: string, target: string, bad: boolean): CheckRow {
  const name = `${source}-to-${target}`;
  const far = (Number(source.slice(4)) * 7 + Number(target.slice(4)) * 3) % 17;
  return {
    type: "check",
    key: `check/${name}`,
    id: `PodNetworkConnectivityCheck/plumbline-system/${name}`,
    namespace: "plumbline-system",
    name,
    source,
    target,
    health: bad ? "Down" : "Healthy",
    ...(bad ? { reason: "TCPConnectError", since: ago(3.5) } : { latencyMs: 0.4 + far / 10 }),
    outages: [...(bad ? [{ start: ago(3.5) }] : []), ...(far === 5 ? [{ start: ago(41), end: ago(33) }] : [])],
  };
}

const pool = (name: string, addresses: string[], assigned: number, available: number, six?: [number, number]): PoolRow => ({
  type: "pool",
  key: `pool/${name}`,
  id: `IPAddressPool/metallb-system/${name}`,
  namespace: "metallb-system",
  name,
  addresses,
  ipv4: { assigned, available },
  ...(six && { ipv6: { assigned: six[0], available: six[1] } }),
  services: assigned,
  health: available === 0 ? "Degraded" : "Healthy",
  ...(available === 0 && { message: "Every address is assigned", since: ago(40) }),
});
