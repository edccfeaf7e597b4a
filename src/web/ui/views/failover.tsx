import { useComputed } from "@preact/signals";
import type { PolicyRow } from "../../api.ts";
import { liveRows } from "../live/rows.ts";
import { nameColumn, sinceColumn } from "../parts/columns.tsx";
import { Empty, Pane, Waiting } from "../parts/pane.tsx";
import { matches, onlyUnhealthy, Search, searchText } from "../parts/search.tsx";
import { worstFirst } from "../parts/sorting.ts";
import { type Column, Table } from "../parts/table.tsx";
import { Since } from "../parts/time.tsx";
import { route } from "../live/route.ts";
import { count } from "./overview.tsx";
import { PolicyDetail } from "./policy-detail.tsx";

const PHASES: Readonly<Record<PolicyRow["phase"], string>> = {
  Complete: "complete",
  InProgress: "switching",
  Error: "error",
  Unknown: "unknown",
};

const COLUMNS: readonly Column<PolicyRow>[] = [
  nameColumn("Policy"),
  {
    id: "site",
    title: "Role here",
    width: "minmax(9em, 1fr)",
    by: ({ current }) => current,
    cell: ({ current, desired }) => (
      <span class="cut">
        {current}
        {current !== desired && <span class="short"> → {desired}</span>}
      </span>
    ),
  },
  { id: "phase", title: "State", width: "6.5em", by: ({ phase }) => phase, cell: ({ phase }) => PHASES[phase] },
  {
    id: "step",
    title: "Step",
    width: "minmax(10em, 2fr)",
    cell: (row) => (
      <span class="cut" title={row.message}>
        {stepText(row)}
      </span>
    ),
  },
  sinceColumn(),
];

/** What matters of a whole site; beside a policy's own pane there is no room for it. */
const SITE_COLUMNS: readonly Column<PolicyRow>[] = [
  { id: "wave", title: "Wave", width: "4em", class: "number", by: ({ wave = 0 }) => wave, cell: ({ wave = 0 }) => wave },
  { id: "ready", title: "Ready", width: "5.5em", by: ({ ready = "Unknown" }) => ready, cell: ({ ready = "Unknown" }) => ready },
  {
    id: "token",
    title: "Token",
    width: "7em",
    by: ({ token }) => token?.state ?? "",
    cell: ({ token }) => token && `${token.state} ${token.epoch}`,
  },
  {
    id: "peer",
    title: "Other site",
    width: "7em",
    by: ({ peer }) => (peer ? (peer.reachable ? "answers" : "silent") : ""),
    cell: ({ peer }) => peer && <span title={peer.message}>{peer.reachable ? "answers" : "silent"}</span>,
  },
  {
    id: "copied",
    title: "Copy",
    width: "5.5em",
    class: "number",
    by: ({ copied }) => copied ?? "9",
    cell: ({ copied }) => <Since time={copied} />,
  },
];
const OVERVIEW: readonly Column<PolicyRow>[] = [...COLUMNS.slice(0, 3), ...SITE_COLUMNS, ...COLUMNS.slice(3)];

function stepText({ phase, transition, message }: PolicyRow): string {
  const step = transition?.steps.find(({ state }) => state === "Running" || state === "Waiting");
  if (phase !== "InProgress" || !step) return message ?? "";
  const { waitingFor } = step;
  return waitingFor ? `${step.name}: waits for ${waitingFor.kind} ${waitingFor.name}` : step.name;
}

export function FailoverView() {
  const rows = useComputed(() => worstFirst(liveRows.failover.value?.values() ?? [], ({ namespace, name }) => `${namespace}/${name}`));
  if (!liveRows.failover.value) return <Waiting what="the failover policies" />;
  const visible = rows.value.filter(
    ({ namespace, name, message, health, phase }) =>
      matches(searchText(), `${namespace}/${name}`, message, phase) && (!onlyUnhealthy() || health !== "Healthy"),
  );
  const chosen = route.value.component;
  return (
    <div class={`split ${chosen === undefined ? "" : "open"}`}>
      <Pane title="Policies" count={count(visible.length, rows.value.length)} tools={<Search placeholder="Search policies" />}>
        <Table
          label="Failover policies"
          rows={visible}
          columns={chosen === undefined ? OVERVIEW : COLUMNS}
          keyOf={({ key }) => key}
          componentOf={({ id }) => id}
          empty={
            rows.value.length === 0 ? (
              <Empty title="No failover policy">
                A FailoverPolicy says which volumes and workloads change sites together. How to write one and try it without harm:{" "}
                <code>plumbline failover plan --help</code>
              </Empty>
            ) : (
              <Empty title="No matching policies">Clear the search or the filter.</Empty>
            )
          }
        />
      </Pane>
      {chosen !== undefined && <PolicyDetail row={rows.value.find(({ id }) => id === chosen)} id={chosen} />}
    </div>
  );
}
