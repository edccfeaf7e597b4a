import type { Answer, Step } from "../../../explain/answer.ts";
import { badness } from "../parts/health.tsx";

export interface Placed {
  readonly step: Step | undefined;
  /** How many are folded away here, when it is no step. */
  readonly folded: number;
  /** Columns from the left, rows from the top; a row may be a half. */
  readonly column: number;
  readonly row: number;
  /** Index of what needs it. */
  readonly parent?: number;
  readonly key: string;
}

export interface Layout {
  readonly placed: readonly Placed[];
  readonly columns: number;
  readonly rows: number;
}

/** More of them side by side nobody reads: what leads to a cause stays, the rest is counted. */
const BESIDE = 5;

/** Symptom on the left, what it needs to its right, each parent in the middle of its needs. */
export function layoutOf({ path }: Pick<Answer, "path">, everything: boolean): Layout {
  const placed: Placed[] = [];
  let rows = 0;
  let columns = 0;

  function place(step: Step, column: number, parent: number | undefined, key: string): number {
    const index = placed.push({ step, folded: 0, column, row: 0, key, ...(parent !== undefined && { parent }) }) - 1;
    columns = Math.max(columns, column + 1);
    const needs = step.needs.toSorted(
      (one, other) => Number(leads(other)) - Number(leads(one)) || badness(other.health) - badness(one.health),
    );
    const shown = everything || needs.length <= BESIDE + 1 ? needs : needs.slice(0, BESIDE);
    const children = shown.map((need) => place(need, column + 1, index, `${key}>${need.id}`));
    if (shown.length < needs.length) children.push(fold(needs.length - shown.length, column + 1, index, `${key}>…`));
    const heights = children.map((child) => placed[child]?.row ?? 0);
    const row = heights.length === 0 ? rows++ : ((heights[0] ?? 0) + (heights.at(-1) ?? 0)) / 2;
    placed[index] = { ...(placed[index] as Placed), row };
    return index;
  }
  function fold(folded: number, column: number, parent: number, key: string): number {
    columns = Math.max(columns, column + 1);
    return placed.push({ step: undefined, folded, column, row: rows++, parent, key }) - 1;
  }

  place(path, 0, undefined, path.id);
  return { placed, columns, rows };
}

const leads = (step: Step): boolean => step.cause || step.needs.some(leads);
