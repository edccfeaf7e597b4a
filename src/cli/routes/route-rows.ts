import type { BgpNeighbor } from "../../frr/neighbors.ts";
import type { BgpRoute } from "../../frr/routes.ts";
import { EXIT } from "../shared/exit.ts";
import type { InstanceRoutes } from "./read-routes.ts";

interface SessionRow {
  readonly node: string;
  readonly instance: InstanceRoutes["instance"];
  readonly vrf: string;
  /** Its address or interface; undefined for the node's own routes. */
  readonly peer?: string;
  /** Of the session; undefined for the node's own routes, and for routes that another VRF has received. */
  readonly state?: string;
}

/** One prefix at one session. */
export interface RouteRow extends SessionRow {
  readonly prefix: string;
  readonly sent: boolean;
  readonly received: boolean;
  readonly selected: boolean;
  readonly inKernel: boolean;
}

/** All prefixes of one session, counted. */
export interface SessionCounts extends SessionRow {
  readonly sent: number;
  readonly received: number;
  readonly selected: number;
  readonly inKernel: number;
}

/** One row per prefix and session, and one for each other source of it. */
export function routeRows({ node, instance, neighbors, routes, kernel }: InstanceRoutes): RouteRow[] {
  const rows: RouteRow[] = [];
  for (const route of routes) {
    const { vrf, prefix, advertisedTo = [] } = route;
    for (const { neighbor, from } of sourcesOf(route, neighbors)) {
      const paths = route.paths.filter((path) => path.from === from);
      const selected = paths.some(({ isSelected }) => isSelected);
      const sent = neighbor !== undefined && advertisedTo.includes(neighbor.neighbor);
      const inKernel = selected && kernel.has(`${vrf} ${prefix}`);
      rows.push({ node, instance, vrf, prefix, ...peerOf(neighbor, from), sent, received: paths.length > 0, selected, inKernel });
    }
  }
  return rows;
}

/** Of `plumbline routes TARGET`. A default route leads to every address, announced or not; what was not read could be the answer. */
export function exitCodeOf(
  rows: readonly Pick<RouteRow, "prefix" | "sent">[],
  targets: readonly string[],
  { isComplete }: { readonly isComplete: boolean },
): number {
  if (!isComplete) return EXIT.unknown;
  const isSent = rows.some(({ prefix, sent }) => sent && (!prefix.endsWith("/0") || targets.includes(prefix)));
  return isSent ? EXIT.fine : EXIT.no;
}

export function sessionCounts({ node, instance, neighbors, routes, kernel }: InstanceRoutes): SessionCounts[] {
  const counts = new Map<string, { -readonly [K in keyof SessionCounts]: SessionCounts[K] }>();
  const rowOf = (vrf: string, neighbor: BgpNeighbor | undefined, from: string | undefined) => {
    const key = `${vrf} ${neighbor?.neighbor ?? from ?? ""}`;
    const known = counts.get(key);
    if (known) return known;
    const row = {
      node,
      instance,
      vrf,
      ...peerOf(neighbor, from),
      sent: neighbor?.sentPrefixes ?? 0,
      received: 0,
      selected: 0,
      inKernel: 0,
    };
    counts.set(key, row);
    return row;
  };
  for (const neighbor of neighbors) rowOf(neighbor.vrf, neighbor, neighbor.address);
  for (const route of routes) {
    for (const { from, isSelected } of route.paths) {
      const row = rowOf(route.vrf, neighborAt(route.vrf, from, neighbors), from);
      row.received += 1;
      if (!isSelected) continue;
      row.selected += 1;
      if (kernel.has(`${route.vrf} ${route.prefix}`)) row.inKernel += 1;
    }
  }
  return [...counts.values()];
}

interface RouteSource {
  readonly neighbor: BgpNeighbor | undefined;
  readonly from: string | undefined;
}

/** The sessions of the VRF, then other senders: a session of another VRF or the node itself. */
function sourcesOf({ vrf, paths }: BgpRoute, neighbors: readonly BgpNeighbor[]): RouteSource[] {
  const sessions = neighbors
    .filter((one) => one.vrf === vrf)
    .map((neighbor) => ({ neighbor, from: neighbor.address ?? neighbor.neighbor }));
  const others = new Set(paths.map(({ from }) => from)).difference(new Set(sessions.map(({ from }) => from)));
  return [...sessions, ...Array.from(others, (from) => ({ neighbor: undefined, from }))];
}

function neighborAt(vrf: string, address: string | undefined, neighbors: readonly BgpNeighbor[]): BgpNeighbor | undefined {
  return address === undefined ? undefined : neighbors.find((one) => one.vrf === vrf && (one.address ?? one.neighbor) === address);
}

function peerOf(neighbor: BgpNeighbor | undefined, from: string | undefined): Pick<SessionRow, "peer" | "state"> {
  if (neighbor) return { peer: neighbor.neighbor, state: neighbor.state };
  return from === undefined ? {} : { peer: from };
}
