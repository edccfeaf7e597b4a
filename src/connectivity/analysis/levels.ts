import type { CheckResult } from "./check-result.ts";

/** The results of one field of a matrix. */
export interface MatrixField {
  readonly reached: number;
  readonly failed: number;
  /** Failed lookups among them. */
  readonly lookups: number;
  readonly unknown: number;
}

export function fieldOf({ verdict, reason }: CheckResult): MatrixField {
  const failed = verdict === "failed" ? 1 : 0;
  return {
    reached: verdict === "reached" ? 1 : 0,
    failed,
    lookups: reason === "DNSError" ? failed : 0,
    unknown: verdict === "unknown" ? 1 : 0,
  };
}

export function sum(one: MatrixField | undefined, other: MatrixField): MatrixField {
  if (!one) return other;
  return {
    reached: one.reached + other.reached,
    failed: one.failed + other.failed,
    lookups: one.lookups + other.lookups,
    unknown: one.unknown + other.unknown,
  };
}

/** How sources and targets are grouped. */
export type MatrixLevel = "name" | "node" | "zone" | "verdict";

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

export function groupKeys(result: readonly CheckResult[], level: MatrixLevel): Sorters {
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
