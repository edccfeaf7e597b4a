import { expect, test } from "vitest";
import type { ProbedPair } from "./prober.ts";
import { overlayReport } from "./report-overlay.ts";

const pair = (node: string, state: "ok" | "unknown" | "failing", where = 110): ProbedPair => ({
  node,
  where,
  size: 64,
  verdict: state === "failing" ? { state, since: 0, why: "answersElsewhere" } : state === "ok" ? { state } : { state, since: 0 },
});

test("a node is reached if something answers and nothing fails, although not all has been observed", () => {
  const pairs = [
    pair("a", "ok"),
    pair("a", "unknown", 111),
    pair("b", "ok"),
    pair("b", "failing", 111),
    pair("c", "unknown"),
    pair("d", "ok"),
  ];
  const { reached, unknown, failing } = overlayReport({ pairs, loss: new Map([["d", 30]]), largest: new Map() });
  expect({ reached, unknown }).toEqual({ reached: 1, unknown: 2 });
  expect(failing.map(({ node, reason }) => `${node} ${reason}`)).toEqual(["b NoAnswerInVNI", "d Loss"]);
});
