import { expect, test } from "vitest";
import type { Change } from "./change.ts";
import { findingText, fuzzSection, outcomeText, sectionOf, summaryText, withSection } from "./report.ts";
import type { FuzzOutcome } from "./runner.ts";

const change: Change = { node: "node2", scope: "router", kind: "link", make: "ip link set vni110 down", undo: "ip link set vni110 up" };
const text = "node2 router: ip link set vni110 down";
const of = (verdict: FuzzOutcome["verdict"], left: readonly string[] = []): FuzzOutcome => ({ change, text, verdict, left });
const named = of({ is: "named", afterMs: 8_240, harmed: ["shop"], cause: "L2VNI/shop@node2 Down" });
const silent = of({ is: "silent", harmed: ["shop node1 - node2", "default/web"], causes: [] });
const result = { outcomes: [of({ is: "harmless" }), named, silent], findings: [{ outcome: silent, history: [text] }] };

test("each change has a line, with the reported or the missing cause", () => {
  expect(outcomeText(named)).toBe(`named     8.2 s    ${text}\n  L2VNI/shop@node2 Down`);
  expect(outcomeText(silent)).toBe(`silent    -        ${text}\n  harmed: shop node1 - node2, default/web\n  why names nothing`);
  expect(outcomeText(of({ is: "harmless" }, ["web does not pass"]))).toBe(`harmless  -        ${text}\n  left: web does not pass`);
  expect(findingText({ outcome: silent, history: ["a", "b"] })).toContain("The shortest history found: a; b\nsilent ");
});

test("the summary counts failures apart from known limits", () => {
  expect(summaryText(result)).toBe("3 changes: 1 did no harm, 0 repaired, 1 named, 0 known limits, 1 failures");
  const limited = { outcomes: [{ ...silent, limit: "nobody looks there" }], findings: [] };
  expect(summaryText(limited)).toBe("1 changes: 0 did no harm, 0 repaired, 0 named, 1 known limits, 0 failures");
});

test("the section has a row per kind of object, and stays when the rest of the page is generated again", () => {
  const section = fuzzSection(result, { minutes: 60, seed: 17 });
  expect(section).toContain("`plumbline lab fuzz --minutes 60 --seed 17 --write docs/drill.md`");
  expect(section).toContain("| link | 3 | 1 | 0 | 1 | 8.2 s | 1 |");
  const page = withSection("# Drill\n\ntable\n", section);
  expect(sectionOf(page)).toBe(section);
  expect(withSection(page, section)).toBe(page);
  expect(withSection("# Drill\n\nother\n", sectionOf(page))).toBe(`# Drill\n\nother\n\n${section}`);
  expect(withSection("# Drill\n", sectionOf("# Drill\n"))).toBe("# Drill\n");
});
