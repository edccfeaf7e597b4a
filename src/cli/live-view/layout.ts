import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { ageOf } from "../../util/age.ts";
import { type TextCell, Columns, stripControlCharacters } from "../print/columns.ts";
import { type Colorize, statusColor } from "../print/color.ts";
import { conditionText, type Row } from "./object-table.ts";

export interface ScreenModel {
  /** The head of the screen: the directory, and how to connect. */
  readonly head: readonly string[];
  readonly rows: readonly Row[];
  /** `red.yaml:12:3: spec.vni: Required value` */
  readonly problems: readonly string[];
  /** Newest last. */
  readonly changes: readonly string[];
}

/** Lines for problems and for changes. */
const FEW = 5;

export function frame({ head, rows, problems, changes }: ScreenModel, height: number, colorize: Colorize, now: number): string[] {
  const below = [
    ...section(
      "Problems",
      few(problems).map((line) => colorize("red", line)),
    ),
    ...section("Changes", changes.slice(-FEW)),
  ];
  const room = Math.max(4, height - head.length - 1 - below.length);
  return [...head, "", ...table(rows, room, colorize, now), ...below];
}

function table(rows: readonly Row[], room: number, colorize: Colorize, now: number): string[] {
  if (rows.length === 0) return ["No objects yet: put manifests into the directory."];
  const worth = rows.filter(isWorthARow);
  const fits = worth.length + (worth.length < rows.length ? 1 : 0) < room;
  const visible = fits ? worth : mostImportant(worth, room - 2);
  const left = rows.length - visible.length;
  const header = ["KIND", "NAMESPACE", "NAME", "SINCE", "CONDITIONS", "FILE"].map((text): TextCell => ({ text }));
  const cells = visible.map((row): TextCell[] => [
    { text: row.kind },
    { text: row.namespace },
    { text: row.name },
    { text: ageOf(row.since, now) },
    { text: conditionText(row), painted: paintedConditions(row, colorize) },
    { text: fileOf(row) },
  ]);
  const lines = new Columns(colorize).lines([header, ...cells]);
  return left === 0 ? lines : [...lines, `and ${left} more: plumbline get plumbline -A`];
}

/** Successful checks are too many to list. */
function isWorthARow({ kind, conditions }: Row): boolean {
  return kind !== PodNetworkConnectivityCheck.kind || conditions.some(({ status }) => status === "False");
}

/** Unhealthy objects, then the latest changes, in their usual order. */
function mostImportant(rows: readonly Row[], room: number): Row[] {
  const ranked = rows.toSorted(
    (a, b) => Number(isHealthy(a)) - Number(isHealthy(b)) || (a.since < b.since ? 1 : a.since > b.since ? -1 : 0),
  );
  const chosen = new Set(ranked.slice(0, room));
  return rows.filter((row) => chosen.has(row));
}

function isHealthy({ conditions }: Row): boolean {
  return conditions.every(({ type, status }) => statusColor(type, status) === "green");
}

function paintedConditions({ conditions }: Row, colorize: Colorize): string {
  return conditions
    .map(({ type, status }) => {
      const color = statusColor(type, status);
      return color ? colorize(color, stripControlCharacters(`${type}=${status}`)) : stripControlCharacters(`${type}=${status}`);
    })
    .join(" ");
}

function fileOf(row: Row): string {
  const source = row.source();
  return source ? `${source.path}:${source.line}` : "";
}

function few(lines: readonly string[]): string[] {
  return lines.length <= FEW ? [...lines] : [...lines.slice(0, FEW - 1), `and ${lines.length - FEW + 1} more`];
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", `${title}:`, ...lines.map((line) => `  ${line}`)];
}
