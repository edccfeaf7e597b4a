import type { CheckResult } from "./check-result.ts";

/** One row or column: a source or target, or several with the same results. */
export interface Band {
  readonly names: readonly string[];
}

export interface Matrix {
  readonly rows: readonly Band[];
  readonly columns: readonly Band[];
  /** By row, then column; undefined if there is no check. */
  readonly fields: readonly (readonly (MatrixField | undefined)[])[];
  /** What a name in a row or column stands for. */
  readonly by: MatrixLevel;
}

/** What fits on a screen. */
const MOST = { rows: 24, columns: 20 };
const LEVELS: readonly MatrixLevel[] = ["name", "node", "zone"];

/**
 * Sources by targets. In a large matrix, rows with failures in the same fields are merged, and so are columns; if that is still too much,
 * by node or zone.
 */
export function matrixOf(result: readonly CheckResult[], most = MOST): Matrix {
  const small = gridOf(result, "name");
  if (small.rows.length <= most.rows && small.columns.length <= most.columns)
    return drawn(small, [...small.rows.keys()].map(alone), [...small.columns.keys()].map(alone));
  for (const level of LEVELS) {
    const folded = fold(level === "name" ? small : gridOf(result, level));
    // If all are in one group, the group says nothing.
    const tells = folded.rows.length + folded.columns.length > 2 || level === "name";
    if (tells && folded.rows.length <= most.rows && folded.columns.length <= most.columns) return folded;
  }
  return fold(gridOf(result, "verdict"));
}

/** By row and column; sparse. */
interface Grid {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly fields: ReadonlyMap<number, MatrixField>;
  readonly by: MatrixLevel;
}

function gridOf(result: readonly CheckResult[], level: MatrixLevel): Grid {
  const { row, column } = groupKeys(result, level);
  const rows = inOrder(result.map(row));
  const columns = inOrder(result.map(column));
  const rowAt = positionsOf(rows);
  const columnAt = positionsOf(columns);
  const fields = new Map<number, MatrixField>();
  for (const one of result) {
    const at = (rowAt.get(row(one)) ?? 0) * columns.length + (columnAt.get(column(one)) ?? 0);
    fields.set(at, sum(fields.get(at), fieldOf(one)));
  }
  return { rows, columns, fields, by: level };
}

/** Merges rows with failures in the same columns, and columns likewise. */
function fold(grid: Grid): Matrix {
  const { rows, columns, fields } = grid;
  const inRow = rows.map((): string[] => []);
  const inColumn = columns.map((): string[] => []);
  for (const [at, field] of fields) {
    const problem = problemOf(field);
    if (problem === "") continue;
    const [row, column] = [Math.floor(at / columns.length), at % columns.length];
    inRow[row]?.push(`${column} ${problem}`);
    inColumn[column]?.push(`${row} ${problem}`);
  }
  return drawn(grid, alike(inRow), alike(inColumn));
}

type Groups = readonly (readonly number[])[];

function alike(problems: readonly (readonly string[])[]): Groups {
  return Array.from(Map.groupBy(problems.keys(), (position) => problems[position]?.toSorted().join(",")).values());
}

function drawn({ rows, columns, fields, by }: Grid, down: Groups, across: Groups): Matrix {
  const bandOf = new Map(across.flatMap((positions, band) => positions.map((position) => [position, band] as const)));
  const lineOf = new Map(down.flatMap((positions, line) => positions.map((position) => [position, line] as const)));
  const drawing: (MatrixField | undefined)[][] = down.map(() => across.map(() => undefined));
  for (const [at, field] of fields) {
    const line = drawing[lineOf.get(Math.floor(at / columns.length)) ?? 0];
    const band = bandOf.get(at % columns.length) ?? 0;
    if (line) line[band] = sum(line[band], field);
  }
  return { rows: named(down, rows), columns: named(across, columns), fields: drawing, by };
}

function named(groups: Groups, names: readonly string[]): Band[] {
  return groups.map((positions) => ({ names: positions.flatMap((position) => names[position] ?? []) }));
}

function problemOf({ reached, failed, lookups, unknown }: MatrixField): string {
  return failed + unknown === 0 ? "" : [reached > 0, failed > lookups, lookups > 0, unknown > 0].map(Number).join("");
}

const collator = new Intl.Collator("en", { numeric: true });

function inOrder(names: readonly string[]): string[] {
  return [...new Set(names)].sort((one, other) => collator.compare(one, other));
}

function positionsOf(names: readonly string[]): Map<string, number> {
  return new Map(names.map((name, at) => [name, at]));
}

function alone(position: number): number[] {
  return [position];
}

export interface MatrixField {
  readonly reached: number;
  readonly failed: number;
  /** Failed lookups among them. */
  readonly lookups: number;
  readonly unknown: number;
}

function fieldOf({ verdict, reason }: CheckResult): MatrixField {
  const failed = verdict === "failed" ? 1 : 0;
  return {
    reached: verdict === "reached" ? 1 : 0,
    failed,
    lookups: reason === "DNSError" ? failed : 0,
    unknown: verdict === "unknown" ? 1 : 0,
  };
}

function sum(one: MatrixField | undefined, other: MatrixField): MatrixField {
  if (!one) return other;
  return {
    reached: one.reached + other.reached,
    failed: one.failed + other.failed,
    lookups: one.lookups + other.lookups,
    unknown: one.unknown + other.unknown,
  };
}

/** How sources and targets are grouped. */
type MatrixLevel = "name" | "node" | "zone" | "verdict";

interface Sorters {
  readonly row: (result: CheckResult) => string;
  readonly column: (result: CheckResult) => string;
}

const sourceName = ({ source: { kind, name } }: CheckResult) => `${kind} ${name}`;
const targetName = ({ target: { endpoint } }: CheckResult) => endpoint;

const SORTERS: Readonly<Record<Exclude<MatrixLevel, "verdict">, Sorters>> = {
  name: { row: sourceName, column: targetName },
  node: {
    row: (result) => (result.source.node === undefined ? sourceName(result) : `node ${result.source.node}`),
    column: ({ target: { node, what, endpoint } }) =>
      node !== undefined ? `node ${node}` : what === "host" ? endpoint : what.replace("/", " "),
  },
  zone: {
    row: ({ source: { zone } }) => (zone === undefined ? "in no zone" : `zone ${zone}`),
    column: ({ target: { zone, what } }) => (zone !== undefined ? `zone ${zone}` : what.startsWith("service/") ? "Services" : "in no zone"),
  },
};

function groupKeys(result: readonly CheckResult[], level: MatrixLevel): Sorters {
  if (level !== "verdict") return SORTERS[level];
  const rows = summaries(result, sourceName);
  const columns = summaries(result, targetName);
  return { row: (one) => rows.get(sourceName(one)) ?? "", column: (one) => columns.get(targetName(one)) ?? "" };
}

function summaries(result: readonly CheckResult[], nameOf: (result: CheckResult) => string): Map<string, string> {
  const totals = new Map<string, MatrixField>();
  for (const one of result) totals.set(nameOf(one), sum(totals.get(nameOf(one)), fieldOf(one)));
  const counts = Map.groupBy(totals, ([, field]) => summaryOf(field));
  return new Map(
    Array.from(counts, ([summary, members]) => members.map(([name]) => [name, `${members.length} ${summary}`] as const)).flat(),
  );
}

function summaryOf({ reached, failed, unknown }: MatrixField): string {
  if (failed > 0) return reached > 0 ? "with some failing" : "with all failing";
  return unknown > 0 ? "with some unknown" : "with all reachable";
}
