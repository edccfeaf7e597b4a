import { type Health, worseHealth } from "../../../api/health.ts";
import { compareNames } from "../parts/table.tsx";
import type { FabricNode, FailingPair, TorSession } from "./fabric.ts";

export type Point = readonly [x: number, y: number];

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Something that can be pointed at. */
export type Item = Box & { readonly key: string } & (
    | { readonly kind: "tor"; readonly tor: string; readonly health: Health; readonly sessions: number; readonly up: number }
    | { readonly kind: "node"; readonly node: FabricNode }
    /** Nodes that are not drawn one by one; none where all of them are, and this puts them together again. */
    | {
        readonly kind: "group";
        readonly rack: string;
        readonly nodes: readonly FabricNode[];
        readonly health: Health;
        readonly open: boolean;
      }
    | { readonly kind: "session"; readonly session: TorSession; readonly line: readonly Point[] }
  );

interface Rack extends Box {
  readonly key: string;
}

export interface DrawnPair {
  readonly pair: FailingPair;
  /** The ends of a curve, and between them the two points that it bends towards. */
  readonly curve: readonly [Point, Point, Point, Point];
}

export interface TopologyLayout {
  readonly racks: readonly Rack[];
  readonly items: readonly Item[];
  readonly pairs: readonly DrawnPair[];
  readonly width: number;
  readonly height: number;
}

interface Input {
  readonly nodes: readonly FabricNode[];
  readonly pairs: readonly FailingPair[];
  readonly width: number;
  /** The key of the rack that is shown whole. */
  readonly open?: string | undefined;
}

const TILE = { width: 148, height: 44 };
const TOR = { width: 140, height: 44 };
const PORT = 8;
const GAP = 12;
const LANE = 6;
const PADDING = 12;
const EDGE = 2;
/** Up to so many nodes are all drawn. Of more, those that are healthy are one tile of their rack. */
const DRAW_ALL = 60;
/** Drawn at most, of one rack and of all. */
const MOST = { rack: 60, all: 200 };
const MAX_PORTS = 4;
const MAX_PAIRS = 60;
/** How far lines of pairs go beside the tiles. */
const BEND = 40;
/** Several racks stand beside each other, so each is about this high. */
const ROWS = 5;

/**
 * Nodes that are connected to the same switches are a rack: switches above, nodes below, and each session a line from the switch to the node's left edge.
 * The order is by name, so that nothing moves when the health of something changes.
 */
export function layoutTopology({ nodes, pairs, width, open }: Input): TopologyLayout {
  const involved = new Set(pairs.flatMap(({ from, to }) => [from, to]));
  const byRack = Map.groupBy(nodes, rackKey);
  const keys = [...byRack.keys()].sort(compareNames);
  const single = keys.length === 1;
  const all = nodes.length <= DRAW_ALL;
  const racks: Rack[] = [];
  const items: Item[] = [];
  let budget = MOST.all;
  let [x, y, shelf, widest] = [EDGE, EDGE, 0, 0];
  for (const key of keys) {
    const tiles = tilesOf({ key, nodes: byRack.get(key) ?? [], all, open: open === key, involved, budget });
    budget -= tiles.length;
    const rack = rackOf({ key, tiles, nodes: byRack.get(key) ?? [], room: width - 2 * EDGE, single, open: open === key });
    if (x > EDGE && x + rack.box.width > width - EDGE) [x, y, shelf] = [EDGE, y + shelf + GAP, 0];
    racks.push({ ...rack.box, x, y });
    items.push(...rack.items.map((item) => moved(item, x, y)));
    widest = Math.max(widest, x + rack.box.width + EDGE);
    shelf = Math.max(shelf, rack.box.height);
    x += rack.box.width + GAP;
  }
  return {
    racks,
    items,
    pairs: drawnPairs(pairs, items),
    width: Math.max(widest, 1),
    height: y + shelf + EDGE + (pairs.length > 0 ? BEND : 0),
  };
}

function rackKey({ sessions }: FabricNode): string {
  return [...new Set(sessions.map(({ tor }) => tor))].sort(compareNames).join(" + ");
}

type Tile = { readonly node: FabricNode } | { readonly nodes: readonly FabricNode[] };

/** The nodes that are drawn one by one, and the rest as one tile. */
function tilesOf(rack: {
  key: string;
  nodes: readonly FabricNode[];
  all: boolean;
  open: boolean;
  involved: ReadonlySet<string>;
  budget: number;
}): Tile[] {
  const { nodes, all, open, involved, budget } = rack;
  const wanted = all || open ? nodes : nodes.filter(({ name, health }) => health !== "Healthy" || involved.has(name));
  const most = Math.max(1, Math.min(open ? MOST.all : MOST.rack, budget - 1));
  const drawn = new Set(wanted.length <= most ? wanted : worst(wanted, most));
  const rest = nodes.filter((node) => !drawn.has(node));
  // One that is left is no group.
  const singles = rest.length === 1 && !open ? nodes : nodes.filter((node) => drawn.has(node));
  const tiles: Tile[] = singles.map((node) => ({ node }));
  if (rest.length > 1 || (open && !all)) tiles.push({ nodes: rest });
  return tiles;
}

const ORDER: readonly Health[] = ["Down", "Unknown", "Degraded", "Healthy"];
const worst = (nodes: readonly FabricNode[], most: number) =>
  nodes.toSorted((one, other) => ORDER.indexOf(one.health) - ORDER.indexOf(other.health)).slice(0, most);

/** A rack at the origin. */
function rackOf(rack: { key: string; tiles: Tile[]; nodes: readonly FabricNode[]; room: number; single: boolean; open: boolean }) {
  const { key, tiles, nodes, room, single, open } = rack;
  const tors = [
    ...Map.groupBy(
      nodes.flatMap(({ sessions }) => sessions),
      ({ tor }) => tor,
    ),
  ].sort(([one], [other]) => compareNames(one, other));
  const trunk = GAP + Math.min(MAX_PORTS, tors.length) * LANE;
  const column = trunk + TILE.width;
  const fit = Math.max(1, Math.floor((room - 2 * PADDING) / column));
  const columns = Math.min(tiles.length, fit, single ? fit : Math.ceil(tiles.length / ROWS));
  const wide = Math.max(columns * column, tors.length * (TOR.width + GAP) - GAP);
  const top = PADDING + (tors.length === 0 ? 0 : TOR.height + GAP + tors.length * LANE);
  const left = PADDING + Math.floor((wide - columns * column) / 2);
  const items: Item[] = [];
  const torAt = new Map<string, Point>();
  const torLeft = PADDING + Math.floor((wide - (tors.length * (TOR.width + GAP) - GAP)) / 2);
  for (const [at, [tor, sessions]] of tors.entries()) {
    const box = { x: torLeft + at * (TOR.width + GAP), y: PADDING, ...TOR };
    torAt.set(tor, [box.x + TOR.width / 2, PADDING + TOR.height + GAP / 2 + at * LANE]);
    const up = sessions.filter(({ health }) => health === "Healthy").length;
    // As long as most sessions are up, what is wrong with the others is not the switch.
    const health: Health =
      up === 0 ? sessions.map((one) => one.health).reduce(worseHealth) : up * 2 > sessions.length ? "Healthy" : "Degraded";
    items.push({ ...box, key: `tor ${key} ${tor}`, kind: "tor", tor, health, sessions: sessions.length, up });
  }
  for (const [at, tile] of tiles.entries()) {
    const box = {
      x: left + (at % columns) * column + trunk,
      y: top + Math.floor(at / columns) * (TILE.height + GAP),
      ...TILE,
    };
    if ("node" in tile)
      items.push({ ...box, key: `node ${tile.node.name}`, kind: "node", node: tile.node }, ...ports(tile.node, box, torAt));
    else {
      const health = tile.nodes.map((one) => one.health).reduce(worseHealth, "Healthy");
      items.push({ ...box, key: `group ${key}`, kind: "group", rack: key, nodes: tile.nodes, open, health });
    }
  }
  const rows = Math.ceil(tiles.length / Math.max(1, columns));
  const box = { key, x: 0, y: 0, width: wide + 2 * PADDING, height: top + rows * (TILE.height + GAP) - GAP + PADDING };
  return { box, items };
}

/** Where the sessions of a node end: at its left edge, those that are down before the others. */
function ports({ sessions }: FabricNode, tile: Box, torAt: ReadonlyMap<string, Point>): Item[] {
  const chosen = new Set(sessions.toSorted((one, other) => ORDER.indexOf(one.health) - ORDER.indexOf(other.health)).slice(0, MAX_PORTS));
  const drawn = sessions.filter((session) => chosen.has(session));
  const step = TILE.height / drawn.length;
  return drawn.map((session, at) => {
    const [x, lane] = torAt.get(session.tor) ?? [0, 0];
    const middle = tile.y + step * (at + 0.5);
    const trunk = tile.x - PORT - LANE * (drawn.length - at);
    const line: Point[] = [
      [x, PADDING + TOR.height],
      [x, lane],
      [trunk, lane],
      [trunk, middle],
      [tile.x - PORT / 2, middle],
    ];
    const key = `session ${session.id}`;
    return { key, kind: "session" as const, session, line, x: tile.x - PORT, y: middle - PORT / 2, width: PORT, height: PORT };
  });
}

function moved(item: Item, x: number, y: number): Item {
  const box = { x: item.x + x, y: item.y + y };
  if (item.kind !== "session") return { ...item, ...box };
  return { ...item, ...box, line: item.line.map(([left, top]): Point => [left + x, top + y]) };
}

/** Below the tiles of one row, beside those of one column, and between the sides that face each other otherwise. None where both ends are in one group. */
function drawnPairs(pairs: readonly FailingPair[], items: readonly Item[]): DrawnPair[] {
  const tiles = new Map<string, Item>();
  for (const item of items) {
    if (item.kind === "node") tiles.set(item.node.name, item);
    if (item.kind === "group") for (const { name } of item.nodes) tiles.set(name, item);
  }
  const drawn: DrawnPair[] = [];
  for (const pair of pairs) {
    const [from, to] = [tiles.get(pair.from), tiles.get(pair.to)];
    if (!from || !to || from === to || drawn.length === MAX_PAIRS) continue;
    drawn.push({ pair, curve: curveBetween(from, to) });
  }
  return drawn;
}

function curveBetween(from: Box, to: Box): DrawnPair["curve"] {
  const [across, down] = [to.x - from.x, to.y - from.y];
  if (down === 0) {
    const foot = ({ x, y, width, height }: Box): Point => [x + width / 2, y + height];
    const [start, end] = [foot(from), foot(to)];
    const bend = Math.min(BEND, 10 + Math.abs(across) / 26);
    return [start, [start[0], start[1] + bend], [end[0], end[1] + bend], end];
  }
  const side = ({ x, y, width, height }: Box, right: boolean): Point => [right ? x + width : x, y + height / 2];
  const [start, end] = across === 0 ? [side(from, true), side(to, true)] : [side(from, across > 0), side(to, across < 0)];
  const bend = across === 0 ? Math.min(BEND, 8 + Math.abs(down) / 8) : (end[0] - start[0]) / 2;
  return [start, [start[0] + bend, start[1]], [end[0] + (across === 0 ? bend : -bend), end[1]], end];
}

/** What is at a point: of several, the smallest. */
export function itemAt({ items }: Pick<TopologyLayout, "items">, [x, y]: Point): Item | undefined {
  const reach = ({ kind }: Item) => (kind === "session" ? 4 : 0);
  return items
    .filter((item) => {
      const by = reach(item);
      return x >= item.x - by && x <= item.x + item.width + by && y >= item.y - by && y <= item.y + item.height + by;
    })
    .toSorted((one, other) => one.width * one.height - other.width * other.height)[0];
}

/** The pair whose line is at a point. */
export function pairAt({ pairs }: Pick<TopologyLayout, "pairs">, [x, y]: Point): DrawnPair | undefined {
  const near = ({ curve }: DrawnPair) =>
    Array.from({ length: 25 }, (_, at) => onCurve(curve, at / 24)).some(([left, top]) => Math.hypot(left - x, top - y) <= 6);
  return pairs.find(near);
}

function onCurve([a, b, c, d]: DrawnPair["curve"], t: number): Point {
  const along = (at: 0 | 1) => (1 - t) ** 3 * a[at] + 3 * (1 - t) ** 2 * t * b[at] + 3 * (1 - t) * t ** 2 * c[at] + t ** 3 * d[at];
  return [along(0), along(1)];
}

const middleOf = ({ x, y, width, height }: Box): Point => [x + width / 2, y + height / 2];
const DIRECTIONS: Readonly<Record<string, Point>> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Where an arrow key leads: to the nearest in that direction, rather straight ahead than aside. */
export function neighborOf(layout: Pick<TopologyLayout, "items">, from: Item | undefined, key: string): Item | undefined {
  const direction = DIRECTIONS[key];
  if (!direction) return undefined;
  if (!from) return layout.items[0];
  const [x, y] = middleOf(from);
  let best: { item: Item; cost: number } | undefined;
  for (const item of layout.items) {
    const [left, top] = middleOf(item);
    const ahead = (left - x) * direction[0] + (top - y) * direction[1];
    const aside = Math.abs((left - x) * direction[1]) + Math.abs((top - y) * direction[0]);
    const cost = ahead + 3 * aside;
    if (ahead > 1 && (!best || cost < best.cost)) best = { item, cost };
  }
  return best?.item ?? from;
}
