import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import type { CheckDetailData } from "../../api.ts";
import { theme } from "./theme.ts";
import { clockTime, milliseconds } from "./time.tsx";

const HEIGHT = 150;

/** Connections and requests over time, without lookups; a failure has no latency and stands on the ground line. */
export function LatencyPlot({ actions }: Pick<CheckDetailData, "actions">) {
  const container = useRef<HTMLDivElement>(null);
  const connections = actions.filter(({ reason, success }) => !success || reason !== "DNSDone");
  const description = described(connections);
  const colors = theme.value;
  useEffect(() => {
    const element = container.current;
    if (!element || connections.length === 0) return undefined;
    const plot = new UPlot(optionsFor(element), dataOf(connections), element);
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [actions, colors]);
  if (connections.length === 0) return <p class="soft">No attempt yet.</p>;
  return <div class="plot" ref={container} role="img" aria-label={description} />;
}

function dataOf(actions: CheckDetailData["actions"]): UPlot.AlignedData {
  return [
    actions.map(({ time }) => Date.parse(time) / 1_000),
    actions.map(({ success, latencyMs }) => (success ? (latencyMs ?? null) : null)),
    actions.map(({ success }) => (success ? null : 0)),
  ];
}

function optionsFor(element: HTMLElement): UPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => resolved(element, name);
  const axis = {
    stroke: color("--text-soft"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(max * 1.2, 0.5)] } },
    axes: [
      { ...axis, values: (_plot, splits) => splits.map((value) => clockTime(value * 1_000).slice(0, 5)) },
      { ...axis, size: 62, values: (_plot, splits) => splits.map((value) => milliseconds(value)) },
    ],
    series: [
      {},
      { label: "latency", stroke: color("--accent"), width: 1.5, points: { show: true, size: 4, fill: color("--accent") } },
      { label: "failed", stroke: color("--down"), width: 0, points: { show: true, size: 9, fill: color("--down") } },
    ],
  };
}

/** A canvas knows no custom properties and no light-dark(). */
function resolved(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = "";
  return color;
}

function described(actions: CheckDetailData["actions"]): string {
  const latencies = actions.flatMap(({ success, latencyMs }) => (success && latencyMs !== undefined ? [latencyMs] : []));
  const failed = actions.filter(({ success }) => !success).length;
  const range =
    latencies.length === 0 ? "no latency" : `${milliseconds(Math.min(...latencies))} to ${milliseconds(Math.max(...latencies))}`;
  return `Latency of ${actions.length} attempts: ${range}, ${failed} failed`;
}
