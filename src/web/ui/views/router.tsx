import { useComputed } from "@preact/signals";
import type { RouterRow } from "../../api.ts";
import { liveRows } from "../live/rows.ts";
import { unhealthySinceColumn } from "../parts/columns.tsx";
import { HealthIcon } from "../parts/health.tsx";
import { Empty, Pane, Waiting } from "../parts/pane.tsx";
import { matches, onlyUnhealthy, Search, searchText } from "../parts/search.tsx";
import { plural, worstFirst } from "../parts/sorting.ts";
import { type Column, Table } from "../parts/table.tsx";
import { route } from "../live/route.ts";
import { count } from "./overview.tsx";
import { RouterDetail } from "./router-detail.tsx";

const COLUMNS: readonly Column<RouterRow>[] = [
  {
    id: "node",
    title: "Node",
    width: "minmax(8em, 1fr)",
    by: ({ node }) => node,
    cell: ({ node, health }) => (
      <>
        <HealthIcon health={health} /> <span class="cut mono">{node}</span>
      </>
    ),
  },
  share("resources", "Applied", ({ resources }) => [resources.applied, resources.total]),
  share("sessions", "Sessions", ({ sessions }) => [sessions.up, sessions.total]),
  share("vnis", "VNIs", ({ vnis }) => [vnis.up, vnis.total]),
  {
    id: "why",
    title: "What is wrong",
    width: "minmax(10em, 2.2fr)",
    cell: (row) => {
      const { failed, message, health } = row;
      const text =
        failed.length > 0 ? failed.map(({ kind, name, reason }) => `${kind} ${name}: ${reason}`).join(", ") : (message ?? lacking(row));
      return (
        health !== "Healthy" && (
          <span class="cut" title={message ?? text}>
            {text}
          </span>
        )
      );
    },
  },
  unhealthySinceColumn(),
];

function share(id: string, title: string, of: (row: RouterRow) => [number, number]): Column<RouterRow> {
  return {
    id,
    title,
    width: "5.5em",
    class: "number",
    by: (row) => of(row)[0] - of(row)[1],
    cell: (row) => {
      const [good, all] = of(row);
      return <span class={good < all ? "short" : ""}>{`${good}/${all}`}</span>;
    },
  };
}

function lacking({ sessions }: RouterRow): string {
  const down = sessions.total - sessions.up;
  return down > 0 ? `${plural(down, "session")} not established` : "a dependency is unhealthy: see Why";
}

export function RouterView() {
  const rows = useComputed(() => worstFirst(liveRows.router.value?.values() ?? [], ({ node }) => node));
  if (!liveRows.router.value) return <Waiting what="the routers" />;
  const visible = rows.value.filter(
    (row) =>
      matches(searchText(), row.node, row.message, row.reason, ...row.failed.map(({ kind, name }) => `${kind} ${name}`)) &&
      (!onlyUnhealthy() || row.health !== "Healthy"),
  );
  const { component } = route.value;
  return (
    <div class={`split ${component === undefined ? "" : "open"}`}>
      <Pane title="Routers" count={count(visible.length, rows.value.length)} tools={<Search placeholder="Search nodes" />}>
        <Table
          label="Routers by node"
          rows={visible}
          columns={COLUMNS}
          keyOf={({ key }) => key}
          componentOf={({ id }) => id}
          empty={
            rows.value.length === 0 ? (
              <Empty title="No router has reported">
                Each node whose agent runs the router writes a RouterNodeConfigurationStatus. Configure one with an Underlay:{" "}
                <code>plumbline apply -f examples/underlay.yaml</code>
              </Empty>
            ) : (
              <Empty title="No matching routers">Clear the search or the filter.</Empty>
            )
          }
        />
      </Pane>
      {component !== undefined && <RouterDetail id={component} />}
    </div>
  );
}
