import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compare, mustBeZero } from "../bench/measure.ts";
import { measured, refreshed, textTable } from "./bench-table.ts";

const at = { commit: "abc1234", date: "2026-11-17" };
const beta = compare({ bench: "beta", what: "time", goal: 2, unit: "ms" }, [3], [12]);
const page = `# Benchmarks

Before.

<!-- figures -->

| bench | what | ours | peer | unit | ratio | goal | runs | spread |     | commit  | date       |
| ----- | ---- | ---- | ---- | ---- | ----- | ---- | ---- | ------ | --- | ------- | ---------- |
| alpha | time | 1    | 2    | ms   | 2×    | 1×   | 5    | 1 %    | ✓   | 1111111 | 2026-11-15 |
| beta  | old  | 9    | 9    | ms   | 1×    | 2×   | 5    | 0 %    | missed | 1111111 | 2026-11-15 |
| gamma | time | 1    | 2    | ms   | 2×    | 1×   | 5    | 1 %    | ✓   | 2222222 | 2026-11-16 |

<!-- /figures -->

| a table | of | its own |
`;

test("replaces the rows of the benches that were run, and nothing else", () => {
  expect(refreshed(page, measured([beta], at))).toBe(`# Benchmarks

Before.

<!-- figures -->

| bench | what | ours | peer | unit | ratio | goal | runs | spread |     | commit  | date       |
| ----- | ---- | ---- | ---- | ---- | ----- | ---- | ---- | ------ | --- | ------- | ---------- |
| alpha | time | 1    | 2    | ms   | 2×    | 1×   | 5    | 1 %    | ✓   | 1111111 | 2026-11-15 |
| beta  | time | 3    | 12   | ms   | 4×    | 2×   | 1    | 0 %    | ✓   | abc1234 | 2026-11-17 |
| gamma | time | 1    | 2    | ms   | 2×    | 1×   | 5    | 1 %    | ✓   | 2222222 | 2026-11-16 |

<!-- /figures -->

| a table | of | its own |
`);
});

test("adds the rows of a bench that the page does not have, in order of names", () => {
  const added = refreshed(page, measured([{ ...beta, bench: "alpha-2" }], at));
  expect([...added.matchAll(/^\| (alpha\S*|beta|gamma) /gm)].map(([, name]) => name)).toEqual(["alpha", "alpha-2", "beta", "gamma"]);
});

test("rejects a page without the markers", () => {
  expect(() => refreshed("# Benchmarks\n", measured([beta], at))).toThrow("The page has no table");
});

test("lists missed goals, and writes a ratio to zero as all", () => {
  const missed = compare({ bench: "beta", what: "time", goal: 2, unit: "ms" }, [10], [12]);
  const zero = mustBeZero({ bench: "gamma", what: "writes", unit: "writes" }, [0], [60]);
  expect(textTable([beta, missed, zero])).toBe(`bench  what    ours  peer  unit    ratio  goal  runs  spread
beta   time    3     12    ms      4×     2×    1     0 %     ✓
beta   time    10    12    ms      1.2×   2×    1     0 %     missed
gamma  writes  0     60    writes  all    all   1     0 %     ✓`);
});

test("every row of docs/benchmarks.md has a commit and a date", async () => {
  const text = await readFile(join(import.meta.dirname, "../docs/benchmarks.md"), "utf8");
  const rows = refreshed(text, [])
    .split("\n")
    .filter((line) => /^\| [a-z]/.test(line) && !line.startsWith("| bench "));
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.filter((row) => !/\| [0-9a-f]{7}\+? +\| \d{4}-\d\d-\d\d \|$/.test(row))).toEqual([]);
});
