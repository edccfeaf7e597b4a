import { expect, test } from "vitest";
import type { ProbedPair } from "./probe-report.ts";
import { overlayReachable, overlayReport } from "./report-overlay.ts";

const VERDICTS = {
  ok: { state: "ok" },
  pending: { state: "pending" },
  unknown: { state: "unknown", since: 0 },
  failing: { state: "failing", since: 0, why: "answersElsewhere" },
} as const;
const NOTHING = {
  l3: new Set<number>(),
  lacking: new Map<string, number[]>(),
  unobserved: [],
  loss: new Map<string, number>(),
  largest: new Map(),
};
const pair = (node: string, state: keyof typeof VERDICTS, where = 110): ProbedPair => ({ node, where, size: 64, verdict: VERDICTS[state] });

test.each([
  ["True", ["ok", "ok"]],
  ["True", ["ok", "pending"]],
  ["Unknown", ["pending", "pending"]],
  ["Unknown", ["ok", "unknown"]],
  ["False", ["pending", "failing"]],
] as const)("OverlayReachable is %s if paths are %j: new ones count once they have answered", (status, states) => {
  const pairs = states.map((state, node) => pair(`node${node}`, state));
  expect(overlayReachable(overlayReport({ ...NOTHING, pairs })).status).toBe(status);
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
  const { reached, unknown, failing } = overlayReport({ ...NOTHING, pairs, loss: new Map([["d", 30]]) });
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
  const { reached, failing } = overlayReport({ ...NOTHING, pairs, lacking });
  expect(reached).toBe(1);
  expect(failing).toEqual([
    { node: "b", reason: "NoEVPNRoute", vnis: "110-111", message: "VNI 110-111: FRR has no VTEP of b, its EVPN routes do not arrive" },
    {
      node: "a",
      reason: "NoEVPNRoute",
      vnis: "110-111",
      message: "VNI 110-111: a has no VTEP of this node, EVPN routes of this node do not arrive there",
      since: 0,
    },
  ]);
});

test("in an L3VNI the router MAC of a node is missing, whichever end lacks it", () => {
  const pairs = [lacks("a", 300), lacks("a", 110), lacks("b", 300), pair("c", "ok", 300)];
  const lacking = new Map([["b", [301, 110, 300]]]);
  const { failing } = overlayReport({ ...NOTHING, pairs, l3: new Set([300, 301]), lacking });
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

const udp = (node: string, size: number, state: keyof typeof VERDICTS): ProbedPair => ({
  node,
  where: "udp",
  size,
  verdict: VERDICTS[state],
});

test("paths are counted one by one, not by entries of the report", () => {
  const pairs = [
    pair("a", "failing"),
    pair("a", "failing", 111),
    pair("b", "ok"),
    pair("b", "ok", 111),
    pair("c", "pending"),
    udp("a", 100, "unknown"),
    udp("b", 100, "ok"),
    udp("b", 1_472, "ok"),
  ];
  expect(overlayReport({ ...NOTHING, pairs }).paths).toEqual({ ok: 4, failing: 2, unknown: 2 });
  // Of d nothing is probed in this turn.
  const lacking = new Map([
    ["b", [111]],
    ["d", [110, 111]],
  ]);
  expect(overlayReport({ ...NOTHING, pairs, lacking }).paths).toEqual({ ok: 3, failing: 5, unknown: 2 });
  expect(overlayReport({ ...NOTHING, pairs, loss: new Map([["b", 30]]) }).paths).toEqual({ ok: 2, failing: 4, unknown: 2 });
});

const failed = (node: string, where: number, since: number, why: "noPath" | "answersElsewhere" = "answersElsewhere"): ProbedPair => ({
  node,
  where,
  size: 64,
  verdict: { state: "failing", since, why },
});
const deadVnis = (pairs: ProbedPair[], lacking = NOTHING.lacking) => overlayReport({ ...NOTHING, pairs, lacking }).deadVnis;

test("a failing path says since when: since the first lost probe of its VNIs", () => {
  const { failing } = overlayReport({ ...NOTHING, pairs: [failed("a", 110, 7_000), failed("a", 111, 5_000), failed("b", 110, 9_000)] });
  expect(failing.map(({ node, since }) => [node, since])).toEqual([
    ["a", 5_000],
    ["b", 9_000],
  ]);
});

test("a VNI is dead if all of its probed paths fail", () => {
  expect(deadVnis([pair("a", "failing"), pair("b", "failing"), pair("a", "failing", 111), pair("b", "ok", 111)])).toBe("110");
  expect(deadVnis([pair("a", "failing"), pair("b", "pending")])).toBe("");
  expect(deadVnis([pair("a", "failing"), pair("b", "unknown")])).toBe("");
  expect(deadVnis([pair("a", "ok"), pair("b", "failing")], new Map([["a", [110]]]))).toBe("110");
  expect(deadVnis([udp("a", 100, "failing"), udp("b", 100, "failing")])).toBe("");
});

test("a VNI is not dead because nodes are gone", () => {
  expect(overlayReport({ ...NOTHING, pairs: [failed("a", 110, 0, "noPath")] }).deadVnis).toBe("");
  expect(overlayReport({ ...NOTHING, pairs: [failed("a", 110, 0)] }).deadVnis).toBe("110");
  expect(deadVnis([failed("a", 110, 0, "noPath"), failed("b", 110, 0, "noPath")])).toBe("");
  expect(deadVnis([failed("a", 110, 0, "noPath"), failed("b", 110, 0)])).toBe("110");
});
