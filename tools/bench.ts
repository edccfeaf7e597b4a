import { readFile, readdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Bench, Measure } from "../bench/measure.ts";

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
    measures.push(...(await bench.run((line) => console.error(`   ${line}`))));
  }
  await refresh(measures);
  console.log(table(measures));
  for (const measure of measures) console.log(JSON.stringify(measure));
  return measures.every(({ ratio, goal }) => ratio >= goal) ? 0 : 1;
}

const HEAD = ["bench", "what", "ours", "peer", "unit", "ratio", "goal", "runs", "spread", ""];

function row(measure: Measure): string[] {
  const { bench, what, ours, peer, unit, ratio, goal, runs, spread } = measure;
  const times = ratio === Number.MAX_SAFE_INTEGER ? "all" : `${ratio}×`;
  return [
    bench,
    what,
    String(ours),
    String(peer),
    unit,
    times,
    `${goal}×`,
    String(runs),
    `${Math.round(spread * 100)} %`,
    ratio >= goal ? "✓" : "missed",
  ];
}

function table(measures: readonly Measure[]): string {
  const rows = [HEAD, ...measures.map(row)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  return rows
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Puts the new figures into the page, in place of older ones of the same measures. */
async function refresh(measures: readonly Measure[]): Promise<void> {
  const page = await readFile(TABLE, "utf8");
  const [before = "", rest = ""] = page.split(BEGIN);
  const [old = "", after = ""] = rest.split(END);
  const rows = new Map<string, string>();
  for (const line of old.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| bench ") && !line.startsWith("| --"))) {
    rows.set(line.split(" | ").slice(0, 2).join(" | "), line);
  }
  for (const cells of measures.map(row)) rows.set(`| ${cells.slice(0, 2).join(" | ")}`, `| ${cells.join(" | ")} |`);
  const lines = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line);
  const head = `| ${HEAD.join(" | ")} |\n|${HEAD.map(() => " --- |").join("")}`;
  const machine = `${cpus().length} cores, Node ${process.version}`;
  await writeFile(TABLE, `${before}${BEGIN}\n\nLast refreshed on ${machine}.\n\n${head}\n${lines.join("\n")}\n\n${END}${after}`);
}
