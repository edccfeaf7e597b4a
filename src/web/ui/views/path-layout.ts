import type { Answer, PathNode } from "../../../explain/answer.ts";
import { healthRank } from "../parts/health.tsx";

export interface LayoutNode {
  readonly step: PathNode | undefined;
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
  readonly nodes: readonly LayoutNode[];
  readonly columns: number;
  readonly rows: number;
}

/** More of them side by side are unreadable: those with a cause stay, the others are counted. */
const BESIDE = 5;

/** Symptom on the left, what it needs to its right, each parent in the middle of its needs. */
export function layoutOf({ path }: Pick<Answer, "path">, everything: boolean): Layout {
  const nodes: LayoutNode[] = [];
  let rows = 0;
  let columns = 0;

  function addNode(step: PathNode, column: number, parent: number | undefined, key: string): number {
    const index = nodes.push({ step, folded: 0, column, row: 0, key, ...(parent !== undefined && { parent }) }) - 1;
    columns = Math.max(columns, column + 1);
    const dependencies = step.dependencies.toSorted(
      (one, other) => Number(leads(other)) - Number(leads(one)) || healthRank(other.health) - healthRank(one.health),
    );
    const visible = everything || dependencies.length <= BESIDE + 1 ? dependencies : dependencies.slice(0, BESIDE);
    const children = visible.map((dependency) => addNode(dependency, column + 1, index, `${key}>${dependency.id}`));
    if (visible.length < dependencies.length) children.push(fold(dependencies.length - visible.length, column + 1, index, `${key}>…`));
    const heights = children.map((child) => nodes[child]?.row ?? 0);
    const row = heights.length === 0 ? rows++ : ((heights[0] ?? 0) + (heights.at(-1) ?? 0)) / 2;
    nodes[index] = { ...(nodes[index] as LayoutNode), row };
    return index;
  }
  function fold(folded: number, column: number, parent: number, key: string): number {
    columns = Math.max(columns, column + 1);
    return nodes.push({ step: undefined, folded, column, row: rows++, parent, key }) - 1;
  }

  addNode(path, 0, undefined, path.id);
  return { nodes, columns, rows };
}

const leads = (step: PathNode): boolean => step.cause || step.dependencies.some(leads);
