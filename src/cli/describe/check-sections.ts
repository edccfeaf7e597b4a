import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { apiVersionOf, type KubeObject } from "../../api/kind.ts";
import { metaTime } from "../../api/time.ts";
import { durationText } from "../../connectivity/history/duration.ts";
import { fromStatus } from "../../connectivity/history/from-status.ts";
import { isLookup, type LogLine, isSuccess } from "../../connectivity/history/history.ts";
import { historyState } from "../../connectivity/history/reduce.ts";
import type { Zones } from "../../connectivity/analysis/check-result.ts";
import { outageWindows } from "../../connectivity/analysis/outage-window.ts";
import { probeAnnotation } from "../../api/annotations.ts";
import { parseProbedTarget } from "../../connectivity/probe/target.ts";
import { ageOf } from "../../util/age.ts";
import { timeRangeCells } from "../checks/draw-incidents.ts";
import { type TextCell, Columns, stripControlCharacters, titled } from "../print/columns.ts";
import type { Colorize } from "../print/color.ts";

interface SectionOptions {
  readonly paint: Colorize;
  readonly now: number;
}

const MAX_ENTRIES = 10;
const NOWHERE: Zones = { zoneOf: () => undefined, nodeAt: () => undefined, nodeOfPod: () => undefined };

/** Undefined for other kinds. */
export function checkSections(object: KubeObject, options: SectionOptions): string[][] | undefined {
  if (object.kind !== PodNetworkConnectivityCheck.kind || object.apiVersion !== apiVersionOf(PodNetworkConnectivityCheck)) return undefined;
  const check = object as PodNetworkConnectivityCheck;
  const { successes, failures } = historyState(fromStatus(check.status, options.now));
  return [
    ...titled("Request:", requestLines(check)),
    ...titled("Latency:", latencies(successes, failures, options)),
    ...titled("Latest:", latest(successes, failures, options)),
    ...titled("Outages:", outages(check, options)),
  ];
}

/** What is sent and expected, if it is more than a connection. */
function requestLines({ metadata, spec }: PodNetworkConnectivityCheck): string[] {
  const target = parseProbedTarget(spec.targetEndpoint, metadata.annotations?.[probeAnnotation]);
  if ("problem" in target || !target.probed) return [];
  const { type, vrf, host, expect, followRedirects, tls } = target.probed.probe;
  if (type === "TCP")
    return [`connects from the router of the node, in ${vrf === undefined ? "the VRF with the most specific route" : `VRF ${vrf}`}`];
  const lines = [
    `GET ${target.text}${host === undefined ? "" : ` for host ${host}`}${followRedirects ? ", redirects followed" : ""}`,
    `expects status ${expect?.status?.join(" or ") ?? "200 to 299"}${expect?.body === undefined ? "" : `, and ${JSON.stringify(expect.body)} in the body`}`,
    ...(tls?.insecure ? ["accepts every certificate"] : []),
    ...(tls?.caBundle === undefined ? [] : ["accepts certificates of its own authorities only"]),
  ];
  return lines.map(stripControlCharacters);
}

const isProbe = (entry: LogLine): boolean => !isLookup(entry);
const ACTIONS = [
  { name: "request", success: "HTTPDone", isOfIt: isProbe },
  { name: "connect", success: "ConnectDone", isOfIt: isProbe },
  { name: "lookup", success: "DNSDone", isOfIt: isLookup },
] as const;

function latencies(successes: readonly LogLine[], failures: readonly LogLine[], { paint }: SectionOptions): string[] {
  const rows = ACTIONS.flatMap(({ name, success, isOfIt }): TextCell[][] => {
    const done = successes.filter(({ outcome, latencyMs }) => outcome === success && latencyMs !== undefined);
    const [newest, oldest] = [done[0], done.at(-1)];
    if (!newest || !oldest) return [];
    // Old failures are kept longer than the successes around them.
    const failed = failures.filter((entry) => isOfIt(entry) && entry.at >= oldest.at);
    const course = [...done, ...failed].toSorted((one, other) => one.at - other.at);
    const values = course.map((entry) => (isSuccess(entry) ? entry.latencyMs : undefined));
    const line = sparkline(values, "x");
    const sorted = done.map(({ latencyMs = 0 }) => latencyMs).toSorted((one, other) => one - other);
    const middle = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
    const figures = `min ${short(sorted[0])}, median ${short(middle)}, max ${short(sorted.at(-1))}`;
    return [
      [
        { text: name },
        { text: line, painted: line.replaceAll("x", paint("red", "x")) },
        { text: `${figures} of ${done.length} since ${timeOf(oldest)}` },
      ],
    ];
  });
  return new Columns(paint).lines(rows);
}

function latest(successes: readonly LogLine[], failures: readonly LogLine[], { paint, now }: SectionOptions): string[] {
  // Both lists are newest first, and within an attempt the later action is.
  const entries = [...successes, ...failures].toSorted((one, other) => other.at - one.at || order(other) - order(one));
  if (entries.length === 0) return [];
  const head = ["TIME", "AGE", "RESULT", "TOOK", "MESSAGE"].map((text): TextCell => ({ text }));
  const rows = entries
    .slice(0, MAX_ENTRIES)
    .map((entry): TextCell[] => [
      { text: timeOf(entry) },
      { text: ageOf(timeOf(entry), now) },
      { text: entry.outcome, color: isSuccess(entry) ? "green" : "red" },
      { text: short(entry.latencyMs) },
      { text: stripControlCharacters(entry.message) },
    ]);
  const more = entries.length - MAX_ENTRIES;
  return [...new Columns(paint).lines([head, ...rows]), ...(more > 0 ? [`and ${more} more; plumbline get -o yaml shows all`] : [])];
}

function order({ outcome }: LogLine): number {
  return isLookup({ outcome }) ? 0 : 1;
}

function outages(check: PodNetworkConnectivityCheck, { paint, now }: SectionOptions): string[] {
  const windows = outageWindows(check, NOWHERE, now);
  if (windows.length === 0) return [];
  const head = ["BROKE", "RESTORED", "LASTED", "WHY", "MESSAGE"].map((text): TextCell => ({ text }));
  const rows = windows.map((outage) =>
    timeRangeCells(outage, now).concat([
      { text: stripControlCharacters(outage.why || outage.reason) },
      { text: stripControlCharacters(outage.message) },
    ]),
  );
  return new Columns(paint).lines([head, ...rows]);
}

/** Three digits are enough. */
function short(ms: number | undefined): string {
  return ms === undefined ? "" : durationText(Number(ms.toPrecision(3)));
}

function timeOf({ at }: LogLine): string {
  return metaTime(new Date(at));
}

const BARS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/** One bar per value, scaled between the lowest and the highest; `gap` stands for a missing value. */
export function sparkline(values: readonly (number | undefined)[], gap: string): string {
  const known = values.filter((value) => value !== undefined);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const bar = (value: number) => BARS[high > low ? Math.round(((value - low) / (high - low)) * (BARS.length - 1)) : 0];
  return values.map((value) => (value === undefined ? gap : bar(value))).join("");
}
