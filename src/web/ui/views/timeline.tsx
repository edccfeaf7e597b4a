import { useComputed } from "@preact/signals";
import { componentId } from "../../../api/health.ts";
import type { TimelineRow } from "../../api.ts";
import { liveRows } from "../live/rows.ts";
import { linkTo, option, refine, route } from "../live/route.ts";
import { DetailPane, DetailTitle, Part } from "../parts/detail.tsx";
import { ComponentName, HealthIcon } from "../parts/health.tsx";
import { Empty, Pane, Waiting } from "../parts/pane.tsx";
import { matches, onlyUnhealthy, Search, searchText } from "../parts/search.tsx";
import { plural } from "../parts/sorting.ts";
import { type Column, Table } from "../parts/table.tsx";
import { clockTime, durationSince, minute, Since } from "../parts/time.tsx";
import { count } from "./overview.tsx";

type What = TimelineRow["what"];
const WHATS: Readonly<Record<What, string>> = { failed: "Failed", fixed: "Fixed", changed: "Changed" };
const SOURCES: Readonly<Record<TimelineRow["source"], string>> = {
  health: "the health of the component",
  event: "an Event",
  outage: "an outage of a check",
  object: "a change of the object",
};

export function TimelineView() {
  const rows = useComputed(() => [...(liveRows.timeline.value?.values() ?? [])].sort(newestFirst));
  if (!liveRows.timeline.value) return <Waiting what="the timeline" />;
  const what = chosenWhat();
  const visible = rows.value.filter(
    (row) =>
      (what === undefined || row.what === what) &&
      matches(searchText(), row.reason, row.message, WHATS[row.what], ...row.components.map(componentId)),
  );
  const chosen = rows.value.find(({ key }) => key === route.value.component);
  return (
    <div class={`split ${chosen ? "open" : ""}`}>
      <Pane title="Timeline" count={`${count(visible.length, rows.value.length)}, newest first`} tools={<Tools />}>
        <Table
          label="What happened"
          rows={visible}
          columns={COLUMNS}
          keyOf={({ key }) => key}
          componentOf={({ key }) => key}
          empty={
            rows.value.length === 0 ? (
              <Empty title="Nothing has happened yet">
                Faults, repairs and changes of the configuration appear here. Try it in the lab: <code>plumbline lab break link-down</code>
              </Empty>
            ) : (
              <Empty title="No matching entries">Clear the search or the filter.</Empty>
            )
          }
        />
      </Pane>
      {chosen && <Entry entry={chosen} />}
    </div>
  );
}

/** Of those of one second, the one that was recorded last comes first. */
function newestFirst(one: TimelineRow, other: TimelineRow): number {
  return Date.parse(other.time) - Date.parse(one.time) || Number(other.key.slice(6)) - Number(one.key.slice(6));
}

/** Failures are the problems, which have a button already. */
const FILTERS = ["fixed", "changed"] as const;
const chosenWhat = (): What | undefined => (onlyUnhealthy() ? "failed" : FILTERS.find((what) => what === option("what")));

function Tools() {
  const chosen = chosenWhat();
  return (
    <>
      {FILTERS.map((what) => (
        <button
          key={what}
          type="button"
          class="button"
          aria-pressed={what === chosen}
          onClick={() => refine({ what: what === chosen ? "" : what, bad: "" })}
        >
          Only {what}
        </button>
      ))}
      <Search placeholder="Search objects and texts" />
    </>
  );
}

const COLUMNS: readonly Column<TimelineRow>[] = [
  { id: "time", title: "Time", width: "9em", cell: ({ time }) => <Moment time={time} /> },
  {
    id: "what",
    title: "What",
    width: "7em",
    by: ({ what }) => what,
    cell: (row) => (
      <>
        <WhatIcon row={row} /> {WHATS[row.what]}
      </>
    ),
  },
  {
    id: "object",
    title: "Object",
    width: "minmax(14em, 1.3fr)",
    by: ({ components: [first] }) => (first ? componentId(first) : ""),
    cell: ({ components: [first], count }) => (
      <>
        <span class="cut">{first && <ComponentName component={first} />}</span>
        {count > 1 && <strong class="nowrap">and {count - 1} more</strong>}
      </>
    ),
  },
  {
    id: "text",
    title: "Text",
    width: "minmax(14em, 2fr)",
    cell: (row) => (
      <span class="cut" title={textOf(row)}>
        {textOf(row)}
      </span>
    ),
  },
];

/** The health where there is one; a change is neither good nor bad. */
function WhatIcon({ row: { what, health } }: { row: TimelineRow }) {
  if (what !== "changed") return <HealthIcon health={health} bare />;
  return (
    <svg class="mark" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M3 13l1-3.5L11 2.5l2.5 2.5L6.500 12zM9.500 4l2.500 2.500" />
    </svg>
  );
}

/** Today only the time of day. */
function Moment({ time }: { time: string }) {
  const date = new Date(time);
  const today = date.toDateString() === new Date(minute.value).toDateString();
  return (
    <time class="mono" dateTime={time} title={date.toLocaleString("sv-SE", { timeZoneName: "short" })}>
      {today ? "" : `${date.toLocaleDateString("sv-SE").slice(5)} `}
      {clockTime(time)}
    </time>
  );
}

function textOf({ what, reason, message, time, since }: TimelineRow): string {
  const lasted = since === undefined ? undefined : `works again after ${durationSince(Date.parse(time) - Date.parse(since))}`;
  return message ?? lasted ?? (what === "changed" ? (reason ?? "").toLowerCase() : (reason ?? ""));
}

/** All of one entry. */
function Entry({ entry }: { entry: TimelineRow }) {
  const { what, health, components, count, source, reason, time } = entry;
  const title = (
    <h2 class="cut">
      {WHATS[what]} <Moment time={time} />
    </h2>
  );
  return (
    <DetailPane label="Entry" title={title}>
      {what === "changed" ? <p class="headline">{textOf(entry)}</p> : <DetailTitle health={health} message={textOf(entry)} />}
      <Part title={plural(count, "object")} note={count > 1 ? "within a minute" : undefined}>
        <ul class="members">
          {components.map((component) => (
            <li key={componentId(component)}>
              <a href={linkTo({ view: "why", component: componentId(component) })}>
                <ComponentName component={component} />
              </a>
            </li>
          ))}
        </ul>
        {count > components.length && <p class="soft">and {count - components.length} more</p>}
        <p class="soft">
          <Since time={time} /> ago{reason === undefined ? "" : `, ${reason}`}. Known from {SOURCES[source]}.
        </p>
      </Part>
    </DetailPane>
  );
}
