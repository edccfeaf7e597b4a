import { useComputed } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { CheckRow } from "../../api.ts";
import { liveRows } from "../live/rows.ts";
import { healthText } from "../parts/health.tsx";
import { Matrix, type MatrixCell } from "../parts/matrix.tsx";
import { Empty, Pane, Waiting } from "../parts/pane.tsx";
import { matches, onlyUnhealthy, Search, searchText } from "../parts/search.tsx";
import { only, plural, worstFirst } from "../parts/sorting.ts";
import { compareNames } from "../parts/table.tsx";
import { clockTime, durationSince, milliseconds, minute } from "../parts/time.tsx";
import { useWindow } from "../parts/window.ts";
import { go, linkHere, option, refine, route } from "../live/route.ts";
import { CheckDetail } from "./check-detail.tsx";

export function ConnectivityView() {
  const checks = useComputed(() => worstFirst(only(liveRows.connectivity.value, "check"), ({ source, target }) => `${source} ${target}`));
  const commonCause = useComputed(() => only(liveRows.connectivity.value, "blame").flatMap(({ sentences }) => sentences));
  if (!liveRows.connectivity.value) return <Waiting what="the checks" />;
  const visible = checks.value.filter(
    ({ source, target, name, reason, health }) =>
      matches(searchText(), source, target, name, reason) && (!onlyUnhealthy() || health !== "Healthy"),
  );
  const { component } = route.value;
  return (
    <div class={`split ${component === undefined ? "" : "open"}`}>
      <div class="stack">
        {commonCause.value.length > 0 && (
          <ul class="blame" aria-label="Common causes of failing checks">
            {commonCause.value.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        )}
        <Heatmap checks={visible} all={checks.value.length} />
        <Outages checks={visible} />
      </div>
      {component !== undefined && <CheckDetail id={component} />}
    </div>
  );
}

function Heatmap({ checks, all }: { checks: readonly CheckRow[]; all: number }) {
  const { sources, targets, cell } = useMemo(() => grid(checks), [liveRows.connectivity.value, searchText(), onlyUnhealthy()]);
  const good = checks.filter(({ health }) => health === "Healthy").length;
  return (
    <Pane
      title="Reachability"
      class="heatmap"
      count={checks.length === 0 ? "" : `${good} of ${plural(checks.length, "check")} reach, source × target; a larger square is slower`}
      tools={<Search placeholder="Search sources and targets" />}
    >
      {checks.length > 0 ? (
        <Matrix
          label="Checks, source by target"
          corner="source ╲ target"
          rows={sources}
          columns={targets}
          cell={cell}
          open={open}
          chosen={route.value.component}
        />
      ) : all > 0 ? (
        <Empty title="No matching checks">Clear the search or the filter.</Empty>
      ) : (
        <Empty title="No check">
          A ConnectivityMesh makes checks between all nodes, and a PodNetworkConnectivityCheck is one of them. The guide:
          docs/connectivity.md
        </Empty>
      )}
    </Pane>
  );
}

const open = (component: string) => go({ view: "connectivity", component, options: route.peek().options });

/** Sources and targets with the most trouble first. */
function grid(checks: readonly CheckRow[]) {
  const byCell = new Map(checks.map((check) => [`${check.source}\n${check.target}`, check]));
  const problem = (of: "source" | "target") => {
    const bad = new Map<string, number>();
    for (const check of checks) bad.set(check[of], (bad.get(check[of]) ?? 0) + (check.health === "Healthy" ? 0 : 1));
    return [...bad].sort(([one, a], [other, b]) => b - a || compareNames(one, other)).map(([name]) => name);
  };
  const usual = median(checks.flatMap(({ latencyMs }) => latencyMs ?? []));
  const slowness = (latencyMs = usual) => (latencyMs > 4 * usual ? 2 : latencyMs > 1.5 * usual ? 1 : 0);
  const cell = (source: string, target: string): MatrixCell | undefined => {
    const check = byCell.get(`${source}\n${target}`);
    if (!check) return undefined;
    const { health, latencyMs, id } = check;
    return { health, text: () => cellText(check), component: id, weight: slowness(latencyMs) };
  };
  return { sources: problem("source"), targets: problem("target"), cell };
}

function cellText({ source, target, health, reason, since, latencyMs }: CheckRow): string {
  const lasts = since === undefined ? undefined : `for ${durationSince(Date.now() - Date.parse(since))}`;
  const latency = latencyMs === undefined ? undefined : milliseconds(latencyMs);
  const text = health === "Healthy" ? [latency] : [reason, lasts];
  return [`${source} → ${target}: ${healthText(health)}`, ...text.filter((part) => part !== undefined)].join(", ");
}

const median = (values: number[]) => values.sort((one, other) => one - other)[values.length >> 1] ?? 0;

const WINDOWS: Readonly<Record<string, number>> = {
  "15m": 900_000,
  "1h": 3_600_000,
  "6h": 21_600_000,
  "24h": 86_400_000,
  "7d": 604_800_000,
};
const LANE = 24;
const TICKS = 6;

/** When each check was broken, on one line of time that ends now. */
function Outages({ checks }: { checks: readonly CheckRow[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const chosen = option("window") in WINDOWS ? option("window") : "1h";
  const span = WINDOWS[chosen] ?? 3_600_000;
  const until = minute.value + 60_000;
  const from = until - span;
  const lanes = checks.filter(({ outages }) => outages.some(({ end }) => end === undefined || Date.parse(end) > from));
  const { first, end } = useWindow(scroller, lanes.length, LANE);
  return (
    <Pane
      title="Outages"
      class="outages"
      count={lanes.length === 0 ? "" : `${plural(lanes.length, "check")} with one`}
      tools={Object.keys(WINDOWS).map((name) => (
        <button key={name} type="button" class="button" aria-pressed={name === chosen} onClick={() => refine({ window: name })}>
          {name}
        </button>
      ))}
    >
      {lanes.length === 0 ? (
        <Empty title={`No outage within ${chosen}`}>Outages appear here. `plumbline outages` lists all of them.</Empty>
      ) : (
        <div class="lanes" ref={scroller} tabIndex={0} role="group" aria-label="Outages by check">
          <Axis from={from} until={until} />
          <ul style={{ height: `${lanes.length * LANE}px` }}>
            {lanes.slice(first, end).map((check, at) => (
              <li key={check.key} style={{ top: `${(first + at) * LANE}px` }}>
                <a class="cut" href={linkHere(check.id)} title={`${check.source} → ${check.target}`}>
                  {check.source} → {check.target}
                </a>
                <Lane check={check} from={from} until={until} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </Pane>
  );
}

function Axis({ from, until }: { from: number; until: number }) {
  const times = Array.from({ length: TICKS + 1 }, (_, at) => from + ((until - from) / TICKS) * at);
  const long = until - from > 86_400_000;
  return (
    <div class="axis soft" aria-hidden="true">
      <span />
      <span class="times">
        {times.map((time) => (
          <span key={time}>{long ? new Date(time).toISOString().slice(5, 10) : clockTime(time).slice(0, 5)}</span>
        ))}
      </span>
    </div>
  );
}

function Lane({ check: { outages, health }, from, until }: { check: CheckRow; from: number; until: number }) {
  const x = (time: number) => Math.max(0, Math.min(100, ((time - from) / (until - from)) * 100));
  const text = outages.map(({ start, end }) => `${clockTime(start)} to ${end === undefined ? "now" : clockTime(end)}`).join(", ");
  return (
    <svg viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={`Outages: ${text}`}>
      <line x1="0" x2="100" y1="12" y2="12" />
      {outages.map(({ start, end }) => {
        const [left, right] = [x(Date.parse(start)), x(end === undefined ? until : Date.parse(end))];
        const kind = end === undefined ? (health === "Unknown" ? "Unknown" : "Down") : "past";
        return (
          <rect key={start} class={kind} x={left} y="6" width={Math.max(0.4, right - left)} height="12">
            <title>{`${clockTime(start)} to ${end === undefined ? "now" : `${clockTime(end)} (${durationSince(Date.parse(end) - Date.parse(start))})`}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}
