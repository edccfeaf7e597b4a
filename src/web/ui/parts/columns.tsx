import type { Health } from "../../../api/health.ts";
import { HealthIcon } from "./health.tsx";
import type { Column } from "./table.tsx";
import { Since } from "./time.tsx";

export function nameColumn<Row extends { namespace: string; name: string; health: Health }>(title: string): Column<Row> {
  return {
    id: "name",
    title,
    width: "minmax(9em, 1.4fr)",
    by: ({ namespace, name }) => `${namespace}/${name}`,
    cell: ({ namespace, name, health }) => (
      <>
        <HealthIcon health={health} />{" "}
        <span class="cut mono">
          <span class="soft">{namespace}/</span>
          {name}
        </span>
      </>
    ),
  };
}

export function sinceColumn<Row extends { since?: string }>(): Column<Row> {
  return {
    id: "since",
    title: "Since",
    width: "5.5em",
    class: "number",
    by: ({ since }) => since ?? "9",
    cell: ({ since }) => <Since time={since} />,
  };
}

/** Empty for healthy rows. */
export function unhealthySinceColumn<Row extends { since?: string; health: Health }>(): Column<Row> {
  return { ...sinceColumn<Row>(), cell: ({ since, health }) => health !== "Healthy" && <Since time={since} /> };
}
