import { expect, test } from "vitest";
import type { DrillResult } from "./runner.ts";
import { problemsOf, drillDocument, outcomeLine, scoreLine } from "./report.ts";

const good: DrillResult = {
  outcome: {
    fault: "link-down",
    domain: "router",
    reportedMs: 640,
    firstReport: "Status node2: Ready=False|x",
    causeMs: 1260,
    clearedMs: 4200,
    named: ["Link/eth1@node2"],
    untrue: [],
    left: [],
    interrupted: [],
  },
  judgment: { silent: false, right: true, claimsHealth: false, cleared: true, flowed: true },
};
const bad: DrillResult = {
  outcome: {
    fault: "vni-taken",
    domain: "router",
    named: ["Node/node2 Odd"],
    untrue: ["Ready=True"],
    left: ["Failed"],
    interrupted: ["web"],
  },
  judgment: { silent: true, right: false, claimsHealth: true, cleared: false, flowed: false },
};

test("each fault has a line, with problems below", () => {
  expect(outcomeLine(good)).toBe("link-down                 router        0.6 s    1.3 s    honest   4.2 s    flowed");
  expect(outcomeLine(bad)).toBe("vni-taken                 router        silent   wrong    claimed  left     cut");
  expect(problemsOf(good)).toEqual([]);
  expect(problemsOf(bad)).toEqual([
    "no status reports it",
    "why names first: Node/node2 Odd",
    "still says: Ready=True",
    "left: Failed",
    "interrupted: web",
  ]);
});

test("the score counts reported, explained and cleared faults", () => {
  expect(scoreLine([good, bad])).toBe(
    "2 faults: 1 of 2 causes named first (50 %), 1 not reported, 1 reported as healthy to the end, 1 not cleared, 1 with other traffic interrupted",
  );
});

test("the score has the time until dead paths were reported", () => {
  const path = { ...good, outcome: { ...good.outcome, deadPath: true as const, causeMs: 12_340 } };
  expect(scoreLine([path, good])).toContain(", 1 dead paths named in 12.3 s (median)");
});

test("the document has a row for each fault and lists skipped ones", () => {
  const text = drillDocument([good], { kube: false, about: (fault) => `what ${fault} does`, others: ["agent-killed"] });
  expect(text).toContain("| `link-down` | what link-down does | 0.6 s | 1.3 s | honest | 4.2 s | flowed | Status node2: Ready=False\\|x |");
  expect(text).toContain("`agent-killed` (what agent-killed does)");
});

test("the document names its command and API", () => {
  expect(drillDocument([good], { kube: false, about: () => "", others: [] })).toContain(
    "as `plumbline lab drill --write docs/drill.md` found it on the embedded API,",
  );
  expect(drillDocument([good], { kube: true, about: () => "", others: [] })).toContain(
    "as `plumbline lab drill --kube --write docs/drill.md` found it on a real API server,",
  );
});
