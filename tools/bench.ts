import { readFile, readdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { ALL, type Bench, type Measure } from "../bench/measure.ts";

const ROOT = join(import.meta.dirname, "..");
const TABLE = join(ROOT, "docs/benchmarks.md");
const [BEGIN, END] = ["<!-- figures -->", "<!-- /figures -->"];

/** `npm run bench [-- NAME...]`: a table, then one JSON line per measure; exit 1 when a goal is missed. */
export async function run(args: readonly string[]): Promise<number> {
  const names = (await readdir(join(ROOT, "bench"))).flatMap((file) => /^([\w-]+)\.bench\.ts$/.exec(file)?.[1] ?? []).sort();
  const unknown = args.filter((arg) => !names.includes(arg));
  if (unknown.length > 0) {
    console.error(`There is no bench ${unknown.join(", ")}; there are ${names.join(", ")}.`);
    return 2;
  }
  const measures: Measure[] = [];
  for (const name of args.length > 0 ? args : names) {
    console.error(`── ${name}`);
    const { bench } = (await import(join(ROOT, "bench", `${name}.bench.ts`))) as { bench: Bench };
    const figures = await bench.run((line) => console.error(`   ${line}`));
    await refresh(figures);
    measures.push(...figures);
  }
  console.log(table(measures));
  for (const measure of measures) console.log(JSON.stringify(measure));
  return measures.every(({ ratio, goal }) => ratio >= goal) ? 0 : 1;
}

const HEAD = ["bench", "what", "ours", "peer", "unit", "ratio", "goal", "runs", "spread", ""];

function row(measure: Measure): string[] {
  const { bench, what, ours, peer, unit, ratio, goal, runs, spread } = measure;
  return [
    bench,
    what,
    String(ours),
    String(peer),
    unit,
    times(ratio),
    times(goal),
    String(runs),
    `${Math.round(spread * 100)} %`,
    ratio >= goal ? "✓" : "missed",
  ];
}

const times = (ratio: number) => (ratio === ALL ? "all" : `${ratio}×`);

function table(measures: readonly Measure[]): string {
  const rows = [HEAD, ...measures.map(row)];
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

function widthsOf(rows: readonly string[][]): number[] {
  return HEAD.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
}

/** Puts the new figures into the page, in place of all older ones of the same benches. */
async function refresh(measures: readonly Measure[]): Promise<void> {
  const page = await readFile(TABLE, "utf8");
  const [before = "", rest = ""] = page.split(BEGIN);
  const [old = "", after = ""] = rest.split(END);
  const run = new Set(measures.map(({ bench }) => bench));
  const kept = old
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    )
    .filter(([bench = ""]) => !run.has(bench));
  const rows = [...kept, ...measures.map(row)].sort(([a = ""], [b = ""]) => (a < b ? -1 : a > b ? 1 : 0));
  const machine = `${cpus().length} cores, Node ${process.version}`;
  await writeFile(TABLE, `${before}${BEGIN}\n\nLast refreshed on ${machine}.\n\n${markdown(rows)}\n\n${END}${after}`);
}

function markdown(rows: readonly string[][]): string {
  const widths = widthsOf([HEAD, ...rows]).map((width) => Math.max(3, width));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [HEAD, widths.map((width) => "-".repeat(width)), ...rows].map(line).join("\n");
}
