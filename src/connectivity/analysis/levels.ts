import { type Field, fieldOf, sum } from "./field.ts";
import type { Said } from "./check-result.ts";

/** What the sources and targets of a matrix are put together by. */
export type Level = "name" | "node" | "zone" | "verdict";

interface Sorters {
  readonly row: (said: Said) => string;
  readonly column: (said: Said) => string;
}

const sourceName = ({ source: { kind, name } }: Said) => `${kind} ${name}`;
const targetName = ({ target: { endpoint } }: Said) => endpoint;

const SORTERS: Readonly<Record<Exclude<Level, "verdict">, Sorters>> = {
  name: { row: sourceName, column: targetName },
  node: {
    row: (said) => (said.source.node === undefined ? sourceName(said) : `node ${said.source.node}`),
    column: ({ target: { node, what, endpoint } }) =>
      node !== undefined ? `node ${node}` : what === "host" ? endpoint : what.replace("/", " "),
  },
  zone: {
    row: ({ source: { zone } }) => (zone === undefined ? "in no zone" : `zone ${zone}`),
    column: ({ target: { zone, what } }) => (zone !== undefined ? `zone ${zone}` : what.startsWith("service/") ? "Services" : "in no zone"),
  },
};

/** The name of the row and of the column in which a check stands. */
export function sortersOf(said: readonly Said[], level: Level): Sorters {
  if (level !== "verdict") return SORTERS[level];
  const rows = standings(said, sourceName);
  const columns = standings(said, targetName);
  return { row: (one) => rows.get(sourceName(one)) ?? "", column: (one) => columns.get(targetName(one)) ?? "" };
}

/** How each source or target stands as a whole. */
function standings(said: readonly Said[], nameOf: (said: Said) => string): Map<string, string> {
  const totals = new Map<string, Field>();
  for (const one of said) totals.set(nameOf(one), sum(totals.get(nameOf(one)), fieldOf(one)));
  const counts = Map.groupBy(totals, ([, field]) => standingOf(field));
  return new Map(
    Array.from(counts, ([standing, members]) => members.map(([name]) => [name, `${members.length} ${standing}`] as const)).flat(),
  );
}

function standingOf({ reached, failed, unknown }: Field): string {
  if (failed > 0) return reached > 0 ? "with some that fail" : "with all failing";
  return unknown > 0 ? "with some unknown" : "with all well";
}
