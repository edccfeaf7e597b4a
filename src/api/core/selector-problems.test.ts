import { expect, test } from "vitest";
import type { LabelSelector } from "./label-selector.ts";
import { selectorProblems } from "./selector-problems.ts";

test.each<LabelSelector | undefined>([
  undefined,
  {},
  { matchLabels: { rack: "a", "kubernetes.io/hostname": "worker-1", empty: "" } },
  { matchExpressions: [{ key: "rack", operator: "NotIn", values: ["a", ""] }] },
  { matchExpressions: [{ key: "rack", operator: "Exists", values: [] }] },
])("%j is usable", (selector) => {
  expect(selectorProblems(selector)).toEqual([]);
});

test("everything that is wrong with a selector is told at once, with its place", () => {
  const selector = {
    matchLabels: { "not a key": "a b" },
    matchExpressions: [
      { key: "/", operator: "Like" },
      { key: "rack", operator: "In" },
      { key: "rack", operator: "Exists", values: ["x\ny"] },
    ],
  };
  expect(selectorProblems(selector).map(({ path, message }) => `${path}: ${message}`)).toEqual([
    'matchLabels: "not a key" is no label',
    'matchLabels: label "not a key" can never have the value "a b"',
    'matchExpressions[0].key: "/" is no label',
    'matchExpressions[0].operator: "Like" is no operator; there are In, NotIn, Exists and DoesNotExist',
    "matchExpressions[1].values: operator In needs values",
    "matchExpressions[2].values: operator Exists takes no values",
    'matchExpressions[2].values: label "rack" can never have the value "x\\ny"',
  ]);
});
