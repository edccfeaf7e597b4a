import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Domain } from "../../../api/health.ts";
import type { CauseRow, MatrixCellRow, DomainRow, NodeRow } from "../../api.ts";
import { liveRows } from "../live/rows.ts";
import { unhealthySinceColumn } from "../parts/columns.tsx";
import { isOld } from "../live/stream.ts";
import { DOMAIN_ORDER, domainName, HealthIcon, CountBar, countText, healthText } from "../parts/health.tsx";
import { Empty, Pane, Waiting } from "../parts/pane.tsx";
import { matches, onlyUnhealthy, Search, searchText } from "../parts/search.tsx";
import { only, plural, worstFirst } from "../parts/sorting.ts";
import { type Column, Table } from "../parts/table.tsx";
import { Since } from "../parts/time.tsx";
import { go, linkTo, type PageView, VIEWS } from "../live/route.ts";
import { Causes } from "./causes.tsx";

export function OverviewView() {
  const domains = useComputed(() => only(liveRows.overview.value, "domain"));
  const causes = useComputed(() => only(liveRows.overview.value, "cause"));
  const nodes = useComputed(() => worstFirst(only(liveRows.overview.value, "node"), ({ name }) => name));
  if (!liveRows.overview.value) return <Waiting what="the cluster" />;
  return (
    <>
      <Summary nodes={nodes.value} causes={causes.value} domains={domains.value} />
      <Causes causes={causes.value} />
      <Nodes nodes={nodes.value} domains={domains.value} />
    </>
  );
}

function Summary({ nodes, causes, domains }: { nodes: NodeRow[]; causes: CauseRow[]; domains: DomainRow[] }) {
  const bad = nodes.filter(({ health }) => health !== "Healthy").length;
  const worst = worstFirst(domains, ({ domain }) => domain)[0]?.health ?? "Healthy";
  const live = !isOld.value;
  return (
    <section class="summary" aria-label="Summary">
      <p class={`verdict ${worst}`}>
        <HealthIcon health={causes.length === 0 ? worst : worst === "Healthy" ? "Degraded" : worst} size={22} bare />
        <span>
          <strong>{sentence(causes.length, live)}</strong>
          <span class="soft">{bad === 0 ? plural(nodes.length, "node") : `${bad} of ${plural(nodes.length, "node")} affected`}</span>
        </span>
      </p>
      <ul class="domains">
        {DOMAIN_ORDER.flatMap((domain) => domains.filter((row) => row.domain === domain)).map((row) => (
          <li key={row.domain}>
            <DomainTile row={row} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function sentence(causes: number, live: boolean): string {
  if (!live) return causes === 0 ? "No problems when last updated" : `${plural(causes, "cause")} when last updated`;
  return causes === 0 ? "Everything works" : causes === 1 ? "1 problem" : `${causes} problems`;
}

function DomainTile({ row: { domain, health, since, tally } }: { row: DomainRow }) {
  const view = viewOf(domain);
  const content = (
    <>
      <span class="name">
        <HealthIcon health={health} size={14} /> {domainName(domain)}
        {health !== "Healthy" && <Since time={since} />}
      </span>
      <CountBar tally={tally} label={domainName(domain)} />
      <span class="soft counts">{countText(tally) || "nothing configured"}</span>
    </>
  );
  return view ? (
    <a class="tile" href={linkTo({ view })}>
      {content}
    </a>
  ) : (
    <div class="tile">{content}</div>
  );
}

const viewOf = (domain: Domain): PageView | undefined => VIEWS.find((view) => view === domain);

function Nodes({ nodes, domains }: { nodes: NodeRow[]; domains: DomainRow[] }) {
  const visible = nodes.filter(
    (row) => matches(searchText(), row.name, row.message, row.health) && (!onlyUnhealthy() || row.health !== "Healthy"),
  );
  const present = DOMAIN_ORDER.filter((domain) => domains.some((row) => row.domain === domain) || nodes.some(({ cells }) => cells[domain]));
  const columns = useMemo(() => columnsFor(present), [present.join()]);
  return (
    <Pane title="Nodes" class="nodes" count={count(visible.length, nodes.length)} tools={<Search placeholder="Search nodes" />}>
      <Table
        label="Nodes and domains"
        rows={visible}
        columns={columns}
        keyOf={({ key }) => key}
        componentOf={({ name }) => `Node/${name}`}
        open={({ name }) => go({ view: "why", component: `Node/${name}` })}
        empty={
          nodes.length === 0 ? (
            <Empty title="No node yet">
              A node appears once its agent reports. In the lab: <code>plumbline lab up</code>; on a node of a cluster, the DaemonSet of the
              chart.
            </Empty>
          ) : (
            <Empty title="No matching nodes">Clear the search or the filter.</Empty>
          )
        }
      />
    </Pane>
  );
}

const columnsFor = (present: readonly Domain[]): Column<NodeRow>[] => [
  {
    id: "name",
    title: "Node",
    width: "minmax(8em, 1.2fr)",
    by: ({ name }) => name,
    cell: ({ name, health }) => (
      <>
        <HealthIcon health={health} /> <span class="cut mono">{name}</span>
      </>
    ),
  },
  ...present.map((domain): Column<NodeRow> => ({
    id: domain,
    title: domainName(domain),
    width: "minmax(7.5em, 1fr)",
    by: ({ cells }) => -(cells[domain]?.tally.Down ?? -1),
    cell: ({ cells }) => <DomainCell cell={cells[domain]} />,
  })),
  unhealthySinceColumn(),
];

export const count = (visible: number, all: number) => (visible === all ? `${all}` : `${visible} of ${all}`);

function DomainCell({ cell }: { cell: MatrixCellRow | undefined }) {
  if (!cell) return <span class="soft">–</span>;
  const { tally, health } = cell;
  const total = tally.Healthy + tally.Degraded + tally.Unknown + tally.Down;
  const bad = total - tally.Healthy;
  return (
    <span class={`health-text ${health}`} title={countText(tally)}>
      <HealthIcon health={health} />
      {health === "Healthy" ? <span class="soft">{total}</span> : `${healthText(health)} ${bad}/${total}`}
    </span>
  );
}
