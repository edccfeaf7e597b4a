import { type Health, worseHealth } from "../../../api/health.ts";
import type { FabricSession, Rows, TopologyRow } from "../../api.ts";
import { compareNames } from "../parts/table.tsx";

export interface FabricNode {
  readonly name: string;
  /** What is opened: its router, or the node. */
  readonly id: string;
  readonly health: Health;
  readonly sessions: readonly TorSession[];
  readonly row?: TopologyRow;
}

export interface TorSession extends FabricSession {
  readonly node: string;
  readonly tor: string;
}

/** Two nodes between which traffic does not pass, as either of them reports it. */
export interface FailingPair {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly reasons: readonly string[];
  /** As ranges; none where it is about the underlay. */
  readonly vnis?: string;
  readonly messages: readonly string[];
  readonly since?: string;
}

export interface Fabric {
  /** By name. */
  readonly nodes: readonly FabricNode[];
  readonly pairs: readonly FailingPair[];
}

/** Of more different neighbors, those that only one node has are drawn as one. */
const MAX_TORS = 8;
export const OTHER_NEIGHBORS = "other neighbors";

/** Puts together what routers and the load balancer report of each node. */
export function fabricOf(rows: Iterable<Rows["topology"]>): Fabric {
  const routers = new Map<string, TopologyRow>();
  const peers = new Map<string, readonly FabricSession[]>();
  for (const row of rows) {
    if (row.type === "router") routers.set(row.node, row);
    else if (row.type === "peers") peers.set(row.node, row.sessions);
  }
  const fabric = new Set([...routers.values()].flatMap(({ sessions }) => sessions.map(({ neighbor }) => neighbor)));
  // Beside a router, the load balancer's neighbor is the router, unless routers have it as their neighbor too.
  const local = new Set(
    [...peers].flatMap(([node, own]) => (routers.has(node) ? own.map(({ neighbor }) => neighbor) : [])).filter((one) => !fabric.has(one)),
  );
  const sessionsOf = (node: string) => [
    ...(routers.get(node)?.sessions ?? []),
    ...(peers.get(node) ?? []).filter(({ neighbor }) => !local.has(neighbor)),
  ];
  const all = [...new Set([...routers.keys(), ...peers.keys()])].sort(compareNames);
  const sessions = new Map(all.map((name) => [name, sessionsOf(name)]));
  const names = all.filter((name) => routers.has(name) || sessions.get(name)?.length);
  const torOf = torNames([...sessions.values()].flat());
  const nodes = names.map((name) =>
    nodeOf(
      name,
      routers.get(name),
      (sessions.get(name) ?? []).map((one) => torSession(one, name, torOf)),
    ),
  );
  return { nodes, pairs: pairsOf(routers.values()) };
}

function torSession(session: FabricSession, node: string, torOf: (neighbor: string) => string): TorSession {
  return { ...session, node, tor: torOf(session.neighbor) };
}

/** Without a router, a node is as healthy as its sessions. */
function nodeOf(name: string, row: TopologyRow | undefined, sessions: TorSession[]): FabricNode {
  const health = row?.health ?? sessions.map((session) => session.health).reduce(worseHealth, "Healthy");
  return { name, id: row?.id ?? `Node/${name}`, health, sessions: sessions.sort(bySession), ...(row && { row }) };
}

const bySession = (one: TorSession, other: TorSession) => compareNames(one.tor, other.tor) || compareNames(one.id, other.id);

/** A neighbor that several nodes have is a switch. On point-to-point links each node has neighbors of its own, and nothing tells which switch they are. */
function torNames(sessions: readonly FabricSession[]): (neighbor: string) => string {
  const uses = new Map<string, number>();
  for (const { neighbor } of sessions) uses.set(neighbor, (uses.get(neighbor) ?? 0) + 1);
  return (neighbor) => (uses.size <= MAX_TORS || (uses.get(neighbor) ?? 0) > 1 ? neighbor : OTHER_NEIGHBORS);
}

function pairsOf(routers: Iterable<TopologyRow>): FailingPair[] {
  const pairs = new Map<string, FailingPair>();
  for (const { node, overlay } of routers) {
    for (const { node: other, reason, vnis, message } of overlay?.failing ?? []) {
      const [from, to] = compareNames(node, other) < 0 ? [node, other] : [other, node];
      const key = `${from} ${to}`;
      const known = pairs.get(key);
      const since = [known?.since, overlay?.since].filter((time) => time !== undefined).toSorted()[0];
      const both = known?.vnis ?? vnis;
      pairs.set(key, {
        key,
        from,
        to,
        reasons: [...new Set([...(known?.reasons ?? []), reason])],
        messages: [...new Set([...(known?.messages ?? []), message])],
        ...(both !== undefined && { vnis: both }),
        ...(since !== undefined && { since }),
      });
    }
  }
  return [...pairs.values()].sort((one, other) => compareNames(one.key, other.key));
}

/** Whether `100-104,110` has a number. */
export function inRanges(ranges: string | undefined, number: number): boolean {
  return (ranges ?? "").split(",").some((range) => {
    const [from = "", to = from] = range.split("-");
    return from !== "" && number >= Number(from) && number <= Number(to);
  });
}
