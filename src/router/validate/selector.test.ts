import { expect, test } from "vitest";
import { type LabelSelector, selects } from "../../api/core/label-selector.ts";
import { selectorFieldProblems } from "./selector.ts";

const labels = { rack: "a", "kubernetes.io/hostname": "worker-1", empty: "" };

test.each<[LabelSelector | undefined, boolean]>([
  [undefined, true],
  [{}, true],
  [{ matchLabels: {}, matchExpressions: [] }, true],
  [{ matchLabels: { rack: "a" } }, true],
  [{ matchLabels: { rack: "b" } }, false],
  [{ matchLabels: { rack: "a", zone: "1" } }, false],
  [{ matchLabels: { empty: "" } }, true],
  [{ matchLabels: { missing: "" } }, false],
  [{ matchLabels: { constructor: "a" } }, false],
  [{ matchExpressions: [{ key: "rack", operator: "In", values: ["b", "a"] }] }, true],
  [{ matchExpressions: [{ key: "zone", operator: "In", values: ["b"] }] }, false],
  [{ matchExpressions: [{ key: "rack", operator: "NotIn", values: ["b"] }] }, true],
  [{ matchExpressions: [{ key: "rack", operator: "NotIn", values: ["a"] }] }, false],
  [{ matchExpressions: [{ key: "zone", operator: "NotIn", values: ["a"] }] }, true],
  [{ matchExpressions: [{ key: "rack", operator: "Exists" }] }, true],
  [{ matchExpressions: [{ key: "zone", operator: "Exists" }] }, false],
  [{ matchExpressions: [{ key: "zone", operator: "DoesNotExist" }] }, true],
  [{ matchExpressions: [{ key: "rack", operator: "DoesNotExist" }] }, false],
  [{ matchLabels: { rack: "a" }, matchExpressions: [{ key: "rack", operator: "DoesNotExist" }] }, false],
])("%j selects the node: %s", (selector, answer) => {
  expect(selects(selector, labels)).toBe(answer);
  expect(selectorFieldProblems(selector)).toEqual([]);
});

test.each<[LabelSelector, string, string]>([
  [{ matchLabels: { "not a key": "x" } }, "spec.nodeSelector.matchLabels", 'nodeSelector: "not a key" is not a label key'],
  [{ matchLabels: { rack: "a b" } }, "spec.nodeSelector.matchLabels", 'nodeSelector: label "rack" cannot have the value "a b"'],
  [
    { matchExpressions: [{ key: "rack", operator: "Like", values: ["a"] }] },
    "spec.nodeSelector.matchExpressions[0].operator",
    'nodeSelector: "Like" is not an operator; use In, NotIn, Exists or DoesNotExist',
  ],
  [
    { matchExpressions: [{ key: "rack", operator: "In" }] },
    "spec.nodeSelector.matchExpressions[0].values",
    "nodeSelector: operator In requires values",
  ],
  [
    { matchExpressions: [{ key: "rack", operator: "Exists", values: ["a"] }] },
    "spec.nodeSelector.matchExpressions[0].values",
    "nodeSelector: operator Exists does not take values",
  ],
  [
    { matchExpressions: [{ key: "/", operator: "Exists" }] },
    "spec.nodeSelector.matchExpressions[0].key",
    'nodeSelector: "/" is not a label key',
  ],
])("%j is invalid", (selector, field, message) => {
  expect(selectorFieldProblems(selector)).toEqual([{ field, message }]);
});
