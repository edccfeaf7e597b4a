import { expect, test } from "vitest";
import type { PathNode } from "../../../explain/answer.ts";
import { layoutOf } from "./path-layout.ts";

function step(name: string, dependencies: PathNode[] = [], cause = false): PathNode {
  return { id: `Thing/${name}`, component: { kind: "Thing", name }, domain: "cluster", health: "Down", cause, dependencies };
}
const drawn = (path: PathNode, everything = false) =>
  layoutOf({ path }, everything).nodes.map(({ step, folded, column, row }) => [step?.component.name ?? `+${folded}`, column, row]);

test("a chain is a straight line", () => {
  expect(drawn(step("a", [step("b", [step("c", [], true)])]))).toEqual([
    ["a", 0, 0],
    ["b", 1, 0],
    ["c", 2, 0],
  ]);
});

test("a component with several dependencies is centered, and no two overlap", () => {
  expect(drawn(step("a", [step("b"), step("c"), step("d")]))).toEqual([
    ["a", 0, 1],
    ["b", 1, 0],
    ["c", 1, 1],
    ["d", 1, 2],
  ]);
});

test("of many dependencies those with a cause are drawn, and the others are counted", () => {
  const many = Array.from({ length: 500 }, (_, at) => step(`n${at}`));
  const rows = drawn(step("a", [...many, step("to blame", [], true)]));
  expect(rows[1]).toEqual(["to blame", 1, 0]);
  expect(rows.at(-1)).toEqual(["+496", 1, 5]);
  expect(rows).toHaveLength(7);
});

test("everything is drawn on request", () => {
  const many = Array.from({ length: 20 }, (_, at) => step(`n${at}`));
  expect(drawn(step("a", many), true)).toHaveLength(21);
});
