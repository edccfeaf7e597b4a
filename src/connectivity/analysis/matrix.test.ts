import { expect, test } from "vitest";
import { checkResult, source, target } from "../testing/check-results.ts";
import { type Matrix, matrixOf } from "./matrix.ts";
import type { CheckResult } from "./check-result.ts";

const sources = Array.from({ length: 500 }, (_, at) => source(`${at < 250 ? "a" : "b"}/n${at}`));
const targets = sources.map(({ name, node, zone }, at) => target(`10.0.${at >> 8}.${at & 255}:80`, `node/${name}`, `${zone}/${node}`));

/** Each source tries three targets. */
function sparse(fails: (one: CheckResult) => boolean): CheckResult[] {
  return sources.flatMap((from, at) =>
    [1, 7, 260].map((step) => {
      const one = checkResult(from, targets[(at + step) % 500] ?? target(":1"), "reached");
      return fails(one) ? checkResult(one.source, one.target, "failed") : one;
    }),
  );
}

/** Rows with how many stand in each, and in each field how many checks are reached and fail: `498: 1497/0`. */
function drawn({ rows, fields }: Matrix): string[] {
  return rows.map(({ names }, at) => {
    const line = fields[at]?.map((field) => (field ? `${field.reached}/${field.failed}` : "-"));
    return `${names.length > 2 ? names.length : names.join("+")}: ${line?.join(" ")}`;
  });
}

test("a small matrix is complete and in natural order", () => {
  const [n2, n10] = [source("a/n2"), source("a/n10")];
  const [web, dns] = [target("10.0.0.1:80"), target("dns.example:53")];
  const matrix = matrixOf([
    checkResult(n10, web, "failed"),
    checkResult(n2, web, "reached"),
    checkResult(n2, dns, "failed", "No such name"),
  ]);
  expect(drawn(matrix)).toEqual(["node n2: 1/0 0/1", "node n10: 0/1 -"]);
  expect(matrix.columns).toEqual([{ names: ["10.0.0.1:80"] }, { names: ["dns.example:53"] }]);
  expect(matrix.fields[0]?.[1]).toEqual({ reached: 0, failed: 1, lookups: 1, unknown: 0 });
});

test("500 healthy nodes are one row and one column", () => {
  expect(drawn(matrixOf(sparse(() => false)))).toEqual(["500: 1500/0"]);
});

test("among 500 nodes one source that reaches nothing is visible", () => {
  const matrix = matrixOf(sparse((one) => one.source.name === "n9"));
  expect(drawn(matrix)).toEqual(["499: 1491/0 6/0", "node n9: - 0/3"]);
});

test("among 500 nodes one target that is not reached is visible", () => {
  const matrix = matrixOf(sparse((one) => one.target.what === "node/n9"));
  expect(drawn(matrix)).toEqual(["497: 1491/0 -", "3: 6/0 0/3"]);
  expect(matrix.columns[1]).toEqual({ names: [targets[9]?.endpoint] });
});

test("failures without a pattern are grouped by zone", () => {
  const matrix = matrixOf(sparse((one) => one.source.zone !== one.target.zone));
  expect(matrix.by).toBe("zone");
  expect(drawn(matrix)).toEqual(["zone a: 502/0 0/248", "zone b: 0/248 502/0"]);
});

/** The same without a word on where things are. */
const placeless = ({ source: { kind, name }, target: { endpoint, host, port, hostType }, verdict, ...rest }: CheckResult): CheckResult => ({
  ...rest,
  source: { kind, name },
  target: { endpoint, host, port, hostType, what: "host" },
  verdict,
});

test("failures without a pattern and without zones are counted by result", () => {
  const matrix = matrixOf(sparse((one) => one.source.zone !== one.target.zone).map(placeless));
  expect(matrix.by).toBe("verdict");
  expect(drawn(matrix)).toEqual(["6 with all reachable: - 18/0", "494 with some failing: 18/0 968/496"]);
});
