import type { Health } from "../../../api/health.ts";
import { healthRank } from "./health.tsx";
import { compareNames } from "./table.tsx";

/** The worst first; of those alike, by name. */
export function worstFirst<Row extends { health: Health }>(rows: Iterable<Row>, nameOf: (row: Row) => string): Row[] {
  return [...rows].sort((one, other) => healthRank(other.health) - healthRank(one.health) || compareNames(nameOf(one), nameOf(other)));
}

export function only<Row extends { type: string }, Type extends Row["type"]>(
  rows: ReadonlyMap<string, Row> | undefined,
  type: Type,
): Extract<Row, { type: Type }>[] {
  return [...(rows?.values() ?? [])].filter((row): row is Extract<Row, { type: Type }> => row.type === type);
}

export const plural = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;
