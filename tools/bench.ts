import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import type { Bench, Measure, Size } from "../bench/measure.ts";
import { measured, refreshed, textTable } from "./bench-table.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGE = "docs/benchmarks.md";
const FILE = /^([\w-]+)\.bench\.ts$/;

const HELP = `Usage: npm run bench -- [OPTIONS] [NAME...]

Runs the named benches, or all of them. Prints a table, then one JSON line per measure.

Options:
  --write  put the results into ${PAGE}, in place of the rows of the same benches
  --tiny   run with tiny counts, which only shows that the benches work: figures are not held to their goals
  --help   print this help

Benches:
`;

interface Request {
  readonly names: readonly string[];
  readonly size: Size;
  readonly write: boolean;
}

/** `npm run bench`. Exit code 1 when a goal is missed, 2 on misuse. */
export async function run(args: readonly string[]): Promise<number> {
  const all = (await readdir(join(ROOT, "bench"))).flatMap((file) => FILE.exec(file)?.[1] ?? []).sort();
  if (args.includes("--help")) {
    console.log(HELP + all.map((name) => `  ${name}`).join("\n"));
    return 0;
  }
  const request = requestOf(args, all);
  if (typeof request === "string") {
    console.error(`bench: ${request}`);
    return 2;
  }
  const measures: Measure[] = [];
  const running = { bench: "" };
  endOnSignal(running);
  for (const name of request.names) {
    running.bench = name;
    console.error(`── ${name}`);
    const { bench } = (await import(join(ROOT, "bench", `${name}.bench.ts`))) as { bench: Bench };
    const results = await bench.run(request.size, (line) => console.error(`   ${line}`));
    if (request.write) await writeRows(results);
    measures.push(...results);
  }
  console.log(textTable(measures));
  for (const measure of measures) console.log(JSON.stringify(measure));
  const counted = request.size === "full" ? measures : measures.filter(({ kind }) => kind === "correctness");
  return counted.every(({ ratio, goal }) => ratio >= goal) ? 0 : 1;
}

/** What the arguments ask for, or what is wrong with them. */
function requestOf(args: readonly string[], all: readonly string[]): Request | string {
  const known = new Set(["--write", "--tiny"]);
  const unknown = args.find((arg) => !(arg.startsWith("-") ? known.has(arg) : all.includes(arg)));
  if (unknown !== undefined) {
    const what = unknown.startsWith("-") ? "option" : "bench";
    return `unknown ${what} ${unknown}. Benches: ${all.join(", ")}. Options: --write, --tiny, --help.`;
  }
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { write: { type: "boolean", default: false }, tiny: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  if (values.write && values.tiny) return "--write needs full counts: leave out --tiny.";
  return { names: positionals.length > 0 ? positionals : all, size: values.tiny ? "tiny" : "full", write: values.write };
}

/**
 * Ends the process at the first signal. Without this a Manager in a bench would stop itself, and the bench would go on. What a bench starts is removed once
 * this process is gone: children by their parent-death signal, daemons, namespaces and directories by `sweepWhenGone`.
 */
function endOnSignal(running: { readonly bench: string }): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      console.error(`bench: ${running.bench} was interrupted by ${signal} and has no result. What it started is being removed.`);
      process.exit(128 + constants.signals[signal]);
    });
  }
}

async function writeRows(measures: readonly Measure[]): Promise<void> {
  const path = join(ROOT, PAGE);
  const at = { commit: await commitNow(), date: new Date().toISOString().slice(0, 10) };
  await writeFile(path, refreshed(await readFile(path, "utf8"), measured(measures, at)));
}

/** The commit that is checked out, with a `+` where the checkout differs from it in more than the page. */
async function commitNow(): Promise<string> {
  const changes = await git("status", "--porcelain", "--", ".", `:!${PAGE}`);
  return `${await git("rev-parse", "--short=7", "HEAD")}${changes === "" ? "" : "+"}`;
}

async function git(...args: string[]): Promise<string> {
  return (await promisify(execFile)("git", args, { cwd: ROOT })).stdout.trim();
}
