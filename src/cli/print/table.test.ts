import { expect, test } from "vitest";
import type { Colorize } from "./color.ts";
import { plain } from "./color.ts";
import { type Table, TablePrinter } from "./table.ts";

const pools: Table = {
  columnDefinitions: [{ name: "Name" }, { name: "Auto Assign" }, { name: "Exhausted", priority: 1 }, { name: "Ready" }, { name: "Age" }],
  rows: [
    { cells: ["blue", true, "False", "True", "5m"], object: { metadata: { name: "blue", namespace: "metallb-system" } } },
    { cells: ["a-long-name", false, "True", "Unknown", "10h"], object: { metadata: { name: "a-long-name", namespace: "x" } } },
  ],
};

const inBrackets: Colorize = (color, text) => `<${color}>${text}</>`;

function printed(table: Table, options: Partial<ConstructorParameters<typeof TablePrinter>[0]> = {}): string[] {
  return new TablePrinter({ paint: plain, wide: false, namespaces: false, ...options }).lines(table);
}

test("a table is laid out as kubectl does: upper case headers, three spaces", () => {
  expect(printed(pools)).toEqual([
    "NAME          AUTO ASSIGN   READY     AGE",
    "blue          true          True      5m",
    "a-long-name   false         Unknown   10h",
  ]);
});

test("a column is at least six wide", () => {
  const columnDefinitions = [{ name: "A" }, { name: "B" }, { name: "C" }];
  expect(printed({ columnDefinitions, rows: [{ cells: [1, "xyz", 3] }] })).toEqual(["A     B     C", "1     xyz   3"]);
});

test("wide shows the columns of lower priority", () => {
  expect(printed(pools, { wide: true })[1]).toBe("blue          true          False       True      5m");
});

test("with all namespaces the first column is the namespace", () => {
  expect(printed(pools, { namespaces: true }).slice(0, 2)).toEqual([
    "NAMESPACE        NAME          AUTO ASSIGN   READY     AGE",
    "metallb-system   blue          true          True      5m",
  ]);
});

test("with several kinds each name has its kind", () => {
  expect(printed(pools, { prefix: "pool/" })[1]).toBe("pool/blue          true          True      5m");
});

test("conditions are colored by whether their status is good, without extra width", () => {
  expect(printed(pools, { wide: true, paint: inBrackets }).slice(1)).toEqual([
    "blue          true          <green>False</>       <green>True</>      5m",
    "a-long-name   false         <red>True</>        <yellow>Unknown</>   10h",
  ]);
});

test("later rows keep the widths, which grow if needed, without a second header", () => {
  const printer = new TablePrinter({ paint: plain, wide: false, namespaces: false });
  printer.lines(pools);
  expect(printer.lines({ rows: [{ cells: ["red", true, "", "False", "1s"] }] })).toEqual(["red           true          False     1s"]);
  expect(printer.lines({ rows: [{ cells: ["a-much-longer-name", true, "", "False", "1s"] }] })).toEqual([
    "a-much-longer-name   true          False     1s",
  ]);
  expect(printer.lines({ rows: [{ cells: ["red", true, "", "False", "1s"] }] })).toEqual([
    "red                  true          False     1s",
  ]);
});

test("control characters of a value are not printed", () => {
  const columnDefinitions = [{ name: "Name" }, { name: "Message" }, { name: "List" }, { name: "Nothing" }];
  expect(printed({ columnDefinitions, rows: [{ cells: ["\u001b[2Jx\u0007", "one\ntwo", ["a", "b"], null] }] })[1]).toBe(
    '^[[2Jx?   one...    ["a","b"]',
  );
});
