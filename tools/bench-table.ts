import { ALL, type Measure } from "../bench/measure.ts";

const [BEGIN, END] = ["<!-- figures -->", "<!-- /figures -->"];
const HEAD = ["bench", "what", "ours", "peer", "unit", "ratio", "goal", "runs", "spread", ""];
const PAGE_HEAD = [...HEAD, "commit", "date"];

type Row = readonly string[];

/** The measures as a person reads them in a terminal. */
export function textTable(measures: readonly Measure[]): string {
  const rows = [HEAD, ...measures.map(rowOf)];
  const widths = widthsOf(rows);
  return rows
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** The rows of the page: each says at which commit and on which day it was measured. */
export function measured(measures: readonly Measure[], at: { commit: string; date: string }): Row[] {
  return measures.map((measure) => [...rowOf(measure), at.commit, at.date]);
}

/** The page with these rows in place of those of the same benches. Everything else stays as it is. */
export function refreshed(page: string, rows: readonly Row[]): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`The page has no table between ${BEGIN} and ${END}`);
  const run = new Set(rows.map(([bench]) => bench));
  const kept = rowsIn(page.slice(begin, end)).filter(([bench]) => !run.has(bench));
  const sorted = [...kept, ...rows].sort(([a = ""], [b = ""]) => (a < b ? -1 : a > b ? 1 : 0));
  return `${page.slice(0, begin)}${BEGIN}\n\n${markdown(sorted)}\n\n${page.slice(end)}`;
}

function rowOf({ bench, what, ours, peer, unit, ratio, goal, runs, spread }: Measure): Row {
  const verdict = ratio >= goal ? "✓" : "missed";
  const percent = `${Math.round(spread * 100)} %`;
  return [bench, what, String(ours), String(peer), unit, times(ratio), times(goal), String(runs), percent, verdict];
}

function times(ratio: number): string {
  return ratio === ALL ? "all" : `${ratio}×`;
}

function rowsIn(table: string): Row[] {
  const lines = table.split("\n").filter((line) => line.startsWith("| "));
  return lines.slice(2).map(cellsOf);
}

function cellsOf(line: string): Row {
  return line
    .slice(1, -1)
    .split("|")
    .map((cell) => cell.trim());
}

function markdown(rows: readonly Row[]): string {
  const widths = widthsOf([PAGE_HEAD, ...rows]).map((width) => Math.max(3, width));
  const line = (cells: Row) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [PAGE_HEAD, widths.map((width) => "-".repeat(width)), ...rows].map(line).join("\n");
}

function widthsOf(rows: readonly Row[]): number[] {
  const [head = []] = rows;
  return head.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
}
