import { join } from "node:path";
import { CHECKS, complaintsAbout, type Findings, findingsIn, numberOf, readRecorded, writeRecorded } from "./style-check.ts";
import type { Recorded } from "./style-exceptions.ts";

const ROOT = join(import.meta.dirname, "..");
/** The product shall lose so many lines. */
const FEWER_LINES = 6000;

/**
 * `./plumbline style`: the table of checks with today's numbers and the goals. With a check, and a word or name: where it is violated.
 * `--write` records today's numbers where they are lower.
 */
export async function run(args: readonly string[]): Promise<number> {
  const findings = await findingsIn(ROOT);
  if (args[0] === "--write") return write(findings);
  if (args[0] !== undefined) return list(findings, args[0], args[1]);
  const recorded = await readRecorded(ROOT);
  console.log(table(findings, recorded));
  return report(complaintsAbout(findings, recorded));
}

async function write(findings: Findings): Promise<number> {
  await writeRecorded(ROOT, findings);
  return report(complaintsAbout(findings, await readRecorded(ROOT)));
}

function list({ violations }: Findings, check: string, item?: string): number {
  const all = violations.get(check);
  if (!all) return report([`There is no check ${check}: ${Object.keys(CHECKS).join(", ")}`]);
  const wanted = all.filter((violation) => item === undefined || violation.item === item);
  for (const { item, path, detail } of wanted) console.log([item, path, detail].filter((part) => part !== undefined).join("\t"));
  return 0;
}

export function table({ violations, allowed, baseline }: Findings, recorded: Recorded): string {
  const rows = Object.entries(CHECKS).map(([check, { title, review, goal }]) => {
    const excepted = allowed.filter((row) => row.check === check).length;
    return [check, title, `${review}`, `${numberOf(check, violations.get(check) ?? [])}`, `${goal}`, excepted === 0 ? "" : `${excepted}`];
  });
  for (const [name, now] of baseline) {
    const start = recorded.baseline.get(name) ?? now;
    const goal = name === "product-lines" ? `at most ${start - FEWER_LINES}` : `at least ${start}`;
    rows.push([name, name === "product-lines" ? "lines of the product" : `${name} in all suites`, "", `${now}`, goal, ""]);
  }
  const all = [["CHECK", "COUNTS", "12DC939", "TODAY", "GOAL", "EXCEPTIONS WITH A REASON"], ...rows];
  const widths = all[0]?.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0))) ?? [];
  return all
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function report(complaints: readonly string[]): number {
  for (const complaint of complaints) console.error(`\n${complaint}`);
  return complaints.length === 0 ? 0 : 1;
}
