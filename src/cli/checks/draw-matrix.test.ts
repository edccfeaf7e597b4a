import { expect, test } from "vitest";
import { checkResult, source, target } from "../../connectivity/testing/check-results.ts";
import { matrixOf } from "../../connectivity/analysis/matrix.ts";
import type { CheckResult } from "../../connectivity/analysis/check-result.ts";
import { plain } from "../print/color.ts";
import { drawMatrix } from "./draw-matrix.ts";

const drawn = (all: readonly CheckResult[]) => drawMatrix(matrixOf(all), (name) => `${name} (x)`, plain);

test("the legend has each mark that occurs", () => {
  const [n1, n2] = [source("a/n1"), source("a/n2")];
  const [web, name, off] = [target("10.0.0.1:80"), target("web.example:80"), target("10.0.0.9:80")];
  expect(
    drawn([
      checkResult(n1, web, "reached"),
      checkResult(n1, name, "failed", "No such name"),
      checkResult(n1, off, "failed"),
      checkResult(n2, web, "unknown", "Stale"),
    ]),
  ).toEqual([
    "         1 2 3",
    "node n1  . X D",
    "node n2  ?",
    "",
    "1  10.0.0.1:80 (x)",
    "2  10.0.0.9:80 (x)",
    "3  web.example:80 (x)",
    "",
    ". reached   X not reached   D name not found   ? no result   empty: not tried",
  ]);
});

test("500 nodes with one that is down are a few lines", () => {
  const nodes = Array.from({ length: 500 }, (_, at) => source(`a/n${at}`));
  const all = nodes.flatMap((from, at) =>
    [1, 7, 60].map((step) => {
      const to = (at + step) % 500;
      return checkResult(from, target(`10.0.${to >> 8}.${to & 255}:80`, `node/n${to}`, `a/n${to}`), to === 9 ? "failed" : "reached");
    }),
  );
  expect(drawn(all)).toEqual([
    "                                        1 2",
    "node n0, node n1, node n3 and 494 more  .",
    "node n2, node n8, node n449             . X",
    "",
    "1  10.0.0.0:80, 10.0.0.1:80, 10.0.0.2:80 and 496 more",
    "2  10.0.0.9:80 (x)",
    "",
    ". reached   X not reached   empty: not tried",
  ]);
});

test("a partly reached cell shows a share, and a long name is cut", () => {
  const long = "a".repeat(120);
  const twice = [checkResult(source("a/n1"), target(`${long}:1`), "reached"), checkResult(source("a/n1"), target(`${long}:1`), "failed")];
  const [head, line, , legend] = drawMatrix(matrixOf(twice), (name) => name, plain);
  expect([head, line, legend]).toEqual(["           1", "node n1  1/2", `1  ${"a".repeat(93)}...`]);
});

test("control characters of a name are not printed", () => {
  expect(drawn([checkResult(source("a/n1"), target("x\u001b[2J:1"), "reached")]).join("\n")).not.toContain("\u001b");
});
