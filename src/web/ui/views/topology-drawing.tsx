import type { TargetedKeyboardEvent, TargetedMouseEvent, TargetedPointerEvent } from "preact";
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Health } from "../../../api/health.ts";
import type { TopologyRow } from "../../api.ts";
import { go, option, refine, route } from "../live/route.ts";
import { healthText, SHAPES } from "../parts/health.tsx";
import { plural } from "../parts/sorting.ts";
import { durationSince } from "../parts/time.tsx";
import { type Fabric, type FabricNode, type FailingPair, inRanges } from "./fabric.ts";
import {
  type DrawnPair,
  type Item,
  itemAt,
  layoutTopology,
  neighborOf,
  pairAt,
  type Point,
  type TopologyLayout,
} from "./topology-layout.ts";

/** A few nodes are drawn larger. */
const MAX_SCALE = 1.4;
const FEW = 12;
const MARGIN = 8;

/** The whole is one stop of the Tab key: arrows move from item to item, and what it says is read out and stands below. */
export function TopologyDrawing({ fabric, vni }: { fabric: Fabric; vni: number | undefined }) {
  const scroller = useRef<HTMLDivElement>(null);
  const name = useId();
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  const layout = useMemo(
    // Nothing is drawn before it is known how wide.
    () => layoutTopology({ ...(width === 0 ? { nodes: [], pairs: [] } : fabric), width, open: option("rack") }),
    [fabric, width, option("rack")],
  );
  const scale = fabric.nodes.length > FEW ? 1 : Math.max(1, Math.min(MAX_SCALE, width / layout.width));
  const [activeKey, setActiveKey] = useState<string>();
  const [pointedPair, setPointedPair] = useState<string>();
  const active = layout.items.find(({ key }) => key === activeKey);
  const chosen = layout.items.find(({ key }) => key === `session ${route.value.component ?? ""}`);
  const pair = fabric.pairs.find(({ key }) => key === (pointedPair ?? option("pair")));

  const move = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const target = neighborOf(layout, active, event.key);
    if (event.key === "Enter" && active) open(active);
    else if (!target || event.altKey || event.ctrlKey || event.metaKey) return;
    else {
      setActiveKey(target.key);
      setPointedPair(undefined);
      scrollTo(scroller.current, target, scale);
    }
    event.preventDefault();
  };
  const pointed = (event: TargetedPointerEvent<SVGElement>) => {
    const at = pointOf(event, scale);
    const item = itemAt(layout, at);
    setActiveKey(item?.key);
    setPointedPair(item ? undefined : pairAt(layout, at)?.pair.key);
  };
  const clicked = (event: TargetedMouseEvent<SVGElement>) => {
    const at = pointOf(event, scale);
    const item = itemAt(layout, at);
    const found = item ? undefined : pairAt(layout, at);
    if (item) open(item);
    else if (found) refine({ pair: option("pair") === found.pair.key ? "" : found.pair.key });
  };
  const drawing = useMemo(() => <Drawing layout={layout} vni={vni} />, [layout, vni, route.value.component]);
  return (
    <div class="matrix-frame">
      <div
        class="fabric-scroll"
        ref={scroller}
        role="application"
        tabIndex={0}
        aria-label="Switches, nodes and sessions"
        aria-describedby={name}
        onKeyDown={move}
        onPointerLeave={() => (setActiveKey(undefined), setPointedPair(undefined))}
      >
        <svg
          class="fabric-drawing"
          width={layout.width * scale}
          height={layout.height * scale}
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          onPointerMove={pointed}
          onClick={clicked}
        >
          {drawing}
          {chosen?.kind === "session" && <path class="link chosen" d={pathOf(chosen.line)} />}
          {layout.pairs.map((drawn) => (
            <path key={drawn.pair.key} class={drawn.pair.key === pair?.key ? "pair chosen" : "pair"} d={curveOf(drawn)} />
          ))}
          {active && <rect class="cursor" x={active.x - 2} y={active.y - 2} width={active.width + 4} height={active.height + 4} rx="6" />}
        </svg>
      </div>
      <p id={name} class="readout cut" role="status">
        {active && !pointedPair
          ? itemText(active, vni)
          : pair
            ? pairText(pair)
            : "Point at a switch, node, session or line, or move with the arrow keys; Enter opens it."}
      </p>
    </div>
  );
}

function pointOf({ clientX, clientY, currentTarget }: TargetedMouseEvent<SVGElement>, scale: number): Point {
  const { left, top } = currentTarget.getBoundingClientRect();
  return [(clientX - left) / scale, (clientY - top) / scale];
}

function open(item: Item): void {
  const component =
    item.kind === "tor" ? `ToR/${item.tor}` : item.kind === "node" ? item.node.id : item.kind === "session" ? item.session.id : undefined;
  if (item.kind === "group") refine({ rack: item.open ? "" : item.rack });
  else if (component?.startsWith("Node/")) go({ view: "why", component });
  else go({ view: "topology", component, options: route.peek().options });
}

function scrollTo(element: HTMLElement | null, item: Item, scale: number): void {
  if (!element) return;
  const [top, bottom] = [item.y * scale, (item.y + item.height) * scale];
  if (top < element.scrollTop) element.scrollTop = top - MARGIN;
  else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom + MARGIN - element.clientHeight;
}

const pathOf = (points: readonly Point[]) => points.map(([x, y], at) => `${at === 0 ? "M" : "L"}${x} ${y}`).join("");
const curveOf = ({ curve: [a, b, c, d] }: DrawnPair) => `M${a.join(" ")}C${b.join(" ")} ${c.join(" ")} ${d.join(" ")}`;

/** What does not depend on where one points. Sessions of one health are one path. */
function Drawing({ layout, vni }: { layout: TopologyLayout; vni: number | undefined }) {
  const sessions = Map.groupBy(
    layout.items.filter((item) => item.kind === "session"),
    ({ session }) => session.health,
  );
  const drawn = (["Healthy", "Degraded", "Unknown", "Down"] as const).flatMap((health) => {
    const found = sessions.get(health);
    return found
      ? [{ health, lines: found.map(({ line }) => pathOf(line)).join(""), ports: found.map((item) => portOf(item, health)).join("") }]
      : [];
  });
  return (
    <>
      {layout.racks.map(({ key, x, y, width, height }) => (
        <rect key={key} class="rack" x={x} y={y} width={width} height={height} rx="8" />
      ))}
      {drawn.map(({ health, lines }) => (
        <path key={health} class={`link ${health}`} d={lines} />
      ))}
      {layout.items.map((item) => item.kind !== "session" && <Tile key={item.key} item={item} vni={vni} />)}
      {drawn.map(({ health, ports }) => (
        <path key={health} class={`port ${health}`} d={ports} />
      ))}
    </>
  );
}

/** A dot for a session that is up, a cross in a square for one that is not. */
function portOf({ x, y, width }: Item, health: Health): string {
  const end = width;
  if (health === "Healthy") return `M${x} ${y + end / 2}a${end / 2} ${end / 2} 0 1 0 ${end} 0a${end / 2} ${end / 2} 0 1 0 -${end} 0z`;
  return `M${x - 1} ${y - 1}h${end + 2}v${end + 2}h-${end + 2}z`;
}

const LETTERS = { tor: 15, tile: 16 };
const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function Tile({ item, vni }: { item: Exclude<Item, { kind: "session" }>; vni: number | undefined }) {
  const { x, y, width, height } = item;
  const health = item.kind === "node" ? item.node.health : item.health;
  const [title, note] = textsOf(item, vni);
  const chosen = item.kind === "tor" ? `ToR/${item.tor}` : item.kind === "node" ? item.node.id : undefined;
  const outside = vni !== undefined && item.kind === "node" && !inRanges(item.node.row?.vnis, vni);
  const kind = [
    "tile",
    item.kind,
    health,
    outside ? "outside" : "",
    chosen !== undefined && chosen === route.value.component ? "chosen" : "",
  ].join(" ");
  return (
    <g class={kind} transform={`translate(${x} ${y})`}>
      <rect width={width} height={height} rx="5" />
      <path class={`mark ${health}`} d={SHAPES[health]} transform={`translate(7 ${note === "" ? height / 2 - 8 : 5})`} />
      <text x="27" y={note === "" ? height / 2 + 4 : 18}>
        {title}
      </text>
      {note !== "" && (
        <text class="note" x="27" y={height - 9}>
          {note}
        </text>
      )}
    </g>
  );
}

function textsOf(item: Exclude<Item, { kind: "session" }>, vni: number | undefined): [title: string, note: string] {
  if (item.kind === "tor") return [cut(item.tor, LETTERS.tor), `BGP ${item.up}/${item.sessions}`];
  if (item.kind === "node") return [cut(item.node.name, LETTERS.tile), vni === undefined ? nodeNote(item.node) : vniText(item.node, vni)];
  if (item.open) return ["Show fewer", item.nodes.length === 0 ? "" : `${item.nodes.length} more: search`];
  const members = item.nodes.filter(({ row }) => vni !== undefined && inRanges(row?.vnis, vni)).length;
  const note = vni === undefined ? "Show all" : `${members} with VNI ${vni}`;
  return [item.health === "Healthy" ? `${item.nodes.length} healthy` : `${item.nodes.length} more`, note];
}

function nodeNote({ row, sessions }: FabricNode): string {
  const up = sessions.filter(({ health }) => health === "Healthy").length;
  const bgp = `BGP ${up}/${sessions.length}`;
  return row ? `${bgp} · ${plural(countOf(row.vnis), "VNI")}` : bgp;
}

function vniText({ row }: FabricNode, vni: number): string {
  if (!inRanges(row?.vnis, vni)) return `no VNI ${vni}`;
  return `VNI ${vni} ${inRanges(row?.vnisDown, vni) ? "down" : "up"}`;
}

function countOf(ranges: string): number {
  return ranges === ""
    ? 0
    : ranges.split(",").reduce((sum, range) => {
        const [from = "", to = from] = range.split("-");
        return sum + Number(to) - Number(from) + 1;
      }, 0);
}

const lasting = (since: string | undefined) => (since === undefined ? "" : ` for ${durationSince(Date.now() - Date.parse(since))}`);

function itemText(item: Item, vni: number | undefined): string {
  if (item.kind === "tor") return `Switch ${item.tor}: ${item.up} of ${plural(item.sessions, "session")} up`;
  if (item.kind === "session") {
    const { node, neighbor, state, since } = item.session;
    return `Session of ${node} with ${neighbor}: ${state}${lasting(since)}`;
  }
  if (item.kind === "group")
    return item.open
      ? "Show fewer nodes of this rack"
      : `${plural(item.nodes.length, "node")}, ${healthText(item.health)}. Enter shows them`;
  const { name, health, sessions, row } = item.node;
  const up = sessions.filter((session) => session.health === "Healthy").length;
  const parts = [
    `${name}: ${healthText(health)}${health === "Healthy" ? "" : lasting(row?.since)}`,
    `${up} of ${plural(sessions.length, "session")} up`,
    ...(row ? [vni === undefined ? plural(countOf(row.vnis), "VNI") : vniText(item.node, vni)] : []),
    ...(row?.vtep === undefined ? [] : [`VTEP ${row.vtep}`]),
    ...(row?.overlay ? [overlayText(row.overlay)] : []),
  ];
  return parts.join(", ");
}

function overlayText({ health, probed, failing }: NonNullable<TopologyRow["overlay"]>): string {
  if (failing.length > 0) return `no traffic to ${plural(failing.length, "node")}`;
  return health === "Unknown" ? "probes of the overlay unknown" : `${plural(probed, "probed path")}, none fails`;
}

function pairText({ from, to, messages, since }: FailingPair): string {
  return `${from} ↔ ${to}${lasting(since)}: ${messages.join("; ")}`;
}
