import { expect, test } from "vitest";
import type { ProbedPair } from "./probe-report.ts";
import { overlayReachable, overlayReport } from "./report-overlay.ts";

const VERDICTS = {
  ok: { state: "ok" },
  pending: { state: "pending" },
  unknown: { state: "unknown", since: 0 },
  failing: { state: "failing", since: 0, why: "answersElsewhere" },
} as const;
const NO_L3: ReadonlySet<number> = new Set();
const pair = (node: string, state: keyof typeof VERDICTS, where = 110): ProbedPair => ({ node, where, size: 64, verdict: VERDICTS[state] });

test.each([
  ["True", ["ok", "ok"]],
  ["True", ["ok", "pending"]],
  ["Unknown", ["pending", "pending"]],
  ["Unknown", ["ok", "unknown"]],
  ["False", ["pending", "failing"]],
] as const)("OverlayReachable is %s if paths are %j: new ones count once they have answered", (status, states) => {
  const pairs = states.map((state, node) => pair(`node${node}`, state));
  expect(overlayReachable(overlayReport({ pairs, l3: NO_L3, lacking: new Map(), loss: new Map(), largest: new Map() })).status).toBe(
    status,
  );
});

test("a node is reachable if a probe is answered and none fails, although not all pairs were observed", () => {
  const pairs = [
    pair("a", "ok"),
    pair("a", "unknown", 111),
    pair("b", "ok"),
    pair("b", "failing", 111),
    pair("c", "unknown"),
    pair("d", "ok"),
  ];
  const { reached, unknown, failing } = overlayReport({
    pairs,
    l3: NO_L3,
    lacking: new Map(),
    loss: new Map([["d", 30]]),
    largest: new Map(),
  });
  expect({ reached, unknown }).toEqual({ reached: 1, unknown: 2 });
  expect(failing.map(({ node, reason }) => `${node} ${reason}`)).toEqual(["b NoAnswerInVNI", "d Loss"]);
});

const lacks = (node: string, where: number): ProbedPair => ({
  node,
  where,
  size: 64,
  verdict: { state: "failing", since: 0, why: "lacksRoute" },
});

test("missing EVPN routes are one entry for each node, whichever end lacks them", () => {
  const pairs = [lacks("a", 111), lacks("a", 110), lacks("b", 110), pair("c", "ok")];
  const lacking = new Map([["b", [111, 110]]]);
  const { reached, failing } = overlayReport({ pairs, l3: NO_L3, lacking, loss: new Map(), largest: new Map() });
  expect(reached).toBe(1);
  expect(failing).toEqual([
    { node: "b", reason: "NoEVPNRoute", vnis: "110-111", message: "VNI 110-111: FRR has no VTEP of b, its EVPN routes do not arrive" },
    {
      node: "a",
      reason: "NoEVPNRoute",
      vnis: "110-111",
      message: "VNI 110-111: a has no VTEP of this node, EVPN routes of this node do not arrive there",
    },
  ]);
});

test("in an L3VNI the router MAC of a node is missing, whichever end lacks it", () => {
  const pairs = [lacks("a", 300), lacks("a", 110), lacks("b", 300), pair("c", "ok", 300)];
  const lacking = new Map([["b", [301, 110, 300]]]);
  const { failing } = overlayReport({ pairs, l3: new Set([300, 301]), lacking, loss: new Map(), largest: new Map() });
  expect(failing.map(({ node, reason, vnis = "", message }) => [node, reason, vnis, message])).toEqual([
    ["b", "NoEVPNRoute", "110", "VNI 110: FRR has no VTEP of b, its EVPN routes do not arrive"],
    [
      "b",
      "NoRouterMAC",
      "300-301",
      "VNI 300-301: FRR has no router MAC of b, although it announces prefixes: packets of the VRF do not find it",
    ],
    ["a", "NoEVPNRoute", "110", "VNI 110: a has no VTEP of this node, EVPN routes of this node do not arrive there"],
    ["a", "NoRouterMAC", "300", "VNI 300: a has no router MAC of this node: packets of the VRF do not find the way here"],
  ]);
});
