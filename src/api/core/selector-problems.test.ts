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

test("all problems of a selector are reported at once, with their positions", () => {
  const selector = {
    matchLabels: { "not a key": "a b" },
    matchExpressions: [
      { key: "/", operator: "Like" },
      { key: "rack", operator: "In" },
      { key: "rack", operator: "Exists", values: ["x\ny"] },
    ],
  };
  expect(selectorProblems(selector).map(({ path, message }) => `${path}: ${message}`)).toEqual([
    'matchLabels: "not a key" is not a label key',
    'matchLabels: label "not a key" cannot have the value "a b"',
    'matchExpressions[0].key: "/" is not a label key',
    'matchExpressions[0].operator: "Like" is not an operator; use In, NotIn, Exists or DoesNotExist',
    "matchExpressions[1].values: operator In requires values",
    "matchExpressions[2].values: operator Exists does not take values",
    'matchExpressions[2].values: label "rack" cannot have the value "x\\ny"',
  ]);
});
