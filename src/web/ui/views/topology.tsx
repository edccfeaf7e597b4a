import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { liveRows } from "../live/rows.ts";
import { option, refine, route } from "../live/route.ts";
import { sinceColumn } from "../parts/columns.tsx";
import { Empty, Pane, Waiting } from "../parts/pane.tsx";
import { matches, onlyUnhealthy, Search, searchText } from "../parts/search.tsx";
import { only, plural } from "../parts/sorting.ts";
import { type Column, Table } from "../parts/table.tsx";
import { type Fabric, fabricOf, type FailingPair, inRanges } from "./fabric.ts";
import { RouterDetail } from "./router-detail.tsx";
import { SessionDetail, TorDetail } from "./topology-detail.tsx";
import { TopologyDrawing } from "./topology-drawing.tsx";

export function TopologyView() {
  const fabric = useComputed(() => fabricOf(liveRows.topology.value?.values() ?? []));
  const vni = Number(option("vni")) || undefined;
  const visible = useMemo(() => filtered(fabric.value, vni), [fabric.value, vni, searchText(), onlyUnhealthy()]);
  if (!liveRows.topology.value) return <Waiting what="the topology" />;
  const { component } = route.value;
  return (
    <div class={`split ${component === undefined ? "" : "open"}`}>
      <div class="stack">
        <Pane title="Topology" class="fabric" count={summary(fabric.value, visible)} tools={<Tools />}>
          {visible.nodes.length > 0 ? (
            <TopologyDrawing fabric={visible} vni={vni} />
          ) : fabric.value.nodes.length > 0 ? (
            <Empty title="No matching nodes">Clear the search or the filter.</Empty>
          ) : (
            <Empty title="No router and no BGP session has reported">
              A node appears with its sessions and VNIs once its agent runs the router or the load balancer. Configure an Underlay:{" "}
              <code>plumbline apply -f examples/underlay.yaml</code>
            </Empty>
          )}
        </Pane>
        {visible.pairs.length > 0 && <FailingPaths pairs={visible.pairs} />}
      </div>
      {component !== undefined && <Chosen component={component} fabric={fabric.value} />}
    </div>
  );
}

/** Also the nodes at both ends of what fails, where only problems are listed. */
function filtered({ nodes, pairs }: Fabric, vni: number | undefined): Fabric {
  const visiblePairs = pairs.filter(({ vnis }) => vni === undefined || vnis === undefined || inRanges(vnis, vni));
  const ends = new Set(visiblePairs.flatMap(({ from, to }) => [from, to]));
  const visible = nodes.filter(
    ({ name, health, sessions, row }) =>
      matches(searchText(), name, row?.vtep, ...sessions.map(({ neighbor }) => neighbor)) &&
      (!onlyUnhealthy() || health !== "Healthy" || ends.has(name)),
  );
  const names = new Set(visible.map(({ name }) => name));
  return { nodes: visible, pairs: visiblePairs.filter(({ from, to }) => names.has(from) || names.has(to)) };
}

function summary({ nodes, pairs }: Fabric, visible: Fabric): string {
  if (nodes.length === 0) return "";
  const sessions = nodes.flatMap((node) => node.sessions);
  const up = sessions.filter(({ health }) => health === "Healthy").length;
  const probed = nodes.reduce((sum, { row }) => sum + (row?.overlay?.probed ?? 0), 0);
  const counted =
    visible.nodes.length === nodes.length ? plural(nodes.length, "node") : `${visible.nodes.length} of ${plural(nodes.length, "node")}`;
  const unknown = nodes.filter(({ row }) => row?.overlay?.health === "Unknown").length;
  const failing =
    pairs.length > 0 ? `${plural(pairs.length, "pair")} of nodes without traffic` : `${plural(probed, "probed path")}, none fails`;
  const paths = unknown > 0 ? `${failing}, unknown on ${plural(unknown, "node")}` : failing;
  return [counted, `${up} of ${plural(sessions.length, "session")} up`, ...(probed > 0 || pairs.length > 0 ? [paths] : [])].join(" · ");
}

function Tools() {
  const vnis = useComputed(() => only(liveRows.topology.value, "vni").sort((one, other) => one.vni - other.vni));
  const chosen = option("vni");
  const known = chosen === "" || vnis.value.some(({ vni }) => String(vni) === chosen);
  return (
    <>
      <select class="field" aria-label="VNI" value={chosen} onChange={({ currentTarget }) => refine({ vni: currentTarget.value })}>
        <option value="">All VNIs</option>
        {!known && <option value={chosen}>VNI {chosen}</option>}
        {vnis.value.map(({ key, vni, layer, name }) => (
          <option key={key} value={String(vni)}>
            {vni} · {layer} {name}
          </option>
        ))}
      </select>
      <Search placeholder="Search nodes and switches" />
    </>
  );
}

function Chosen({ component, fabric }: { component: string; fabric: Fabric }) {
  if (component.startsWith("ToR/")) return <TorDetail tor={component.slice(4)} fabric={fabric} />;
  if (component.startsWith("RouterNodeConfigurationStatus/")) return <RouterDetail id={component} />;
  return <SessionDetail id={component} fabric={fabric} />;
}

const REASONS: Readonly<Record<string, string>> = {
  NoAnswerInVNI: "frames do not arrive",
  NoEVPNRoute: "EVPN routes are missing",
  NoRouterMAC: "a router MAC is missing",
  NoPath: "no answer, not even to pings",
  NoAnswer: "no answer to probes",
  TooLarge: "full packets do not pass",
  Loss: "packets are lost",
};

const COLUMNS: readonly Column<FailingPair>[] = [
  {
    id: "pair",
    title: "Between",
    width: "minmax(10em, 1fr)",
    by: ({ key }) => key,
    cell: ({ from, to }) => (
      <span class="cut mono">
        {from} ↔ {to}
      </span>
    ),
  },
  { id: "vnis", title: "VNIs", width: "minmax(5em, 0.5fr)", cell: ({ vnis }) => <span class="cut mono">{vnis ?? "all"}</span> },
  {
    id: "reason",
    title: "What fails",
    width: "minmax(10em, 1fr)",
    by: ({ reasons }) => reasons.join(),
    cell: ({ reasons }) => <span class="cut">{reasons.map((reason) => REASONS[reason] ?? reason).join("; ")}</span>,
  },
  {
    id: "message",
    title: "As reported",
    width: "minmax(10em, 2fr)",
    cell: ({ messages }) => (
      <span class="cut soft" title={messages.join("\n")}>
        {messages.join("; ")}
      </span>
    ),
  },
  sinceColumn(),
];

function FailingPaths({ pairs }: { pairs: readonly FailingPair[] }) {
  return (
    <Pane
      title="Failing paths"
      class="paths"
      style={{ "--rows": pairs.length }}
      count={`${pairs.length}; choose one to see it in the drawing`}
    >
      <Table
        label="Failing paths"
        rows={pairs}
        columns={COLUMNS}
        keyOf={({ key }) => key}
        componentOf={({ key }) => key}
        chosen={option("pair")}
        open={({ key }) => refine({ pair: option("pair") === key ? "" : key })}
        empty={null}
      />
    </Pane>
  );
}
