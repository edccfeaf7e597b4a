import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type FuzzFlow, type FuzzSample, harmedFlows, isRight, judgeChange, type NamedCause, type Verdict } from "./verdict.ts";

const shop: FuzzFlow = { name: "shop node1 - node2", layer: "overlay" };
const web: FuzzFlow = { name: "default/web", layer: "service" };
const flows = [shop, web];
const STEP_MS = 200;

interface History {
  /** Of each flow by name, from when to when nothing passes. */
  readonly cut?: Readonly<Record<string, readonly [number, number]>>;
  readonly causes?: (atMs: number) => readonly NamedCause[];
}

/** What is judged in the end, as the runner does: sample by sample, until it is decided. */
function follow({ cut = {}, causes = () => [] }: History): { verdict: Verdict; atMs: number } {
  const samples: FuzzSample[] = [];
  const counts = { lost: new Map<string, number>(), passed: new Map<string, number>() };
  for (let atMs = 0; ; atMs += STEP_MS) {
    for (const { name } of flows) {
      const [from, to] = cut[name] ?? [0, 0];
      const into = atMs >= from && atMs < to ? counts.lost : counts.passed;
      into.set(name, (into.get(name) ?? 0) + 2);
    }
    const now = { atMs, lost: new Map(counts.lost), passed: new Map(counts.passed) };
    samples.push({ ...now, harmed: harmedFlows(samples, now, flows), causes: causes(atMs) });
    const verdict = judgeChange(samples, "node2");
    if (verdict) return { verdict, atMs };
  }
}

const cause = (node: string, domain: NamedCause["domain"] = "router", text = `Overlay/${node}@${node}`): NamedCause => ({
  node,
  domain,
  text,
});

test("a change that interrupts nothing is harmless, whatever is reported", () => {
  expect(follow({}).verdict).toEqual({ is: "harmless" });
  expect(follow({ causes: () => [cause("node1")] }).verdict).toEqual({ is: "harmless" });
});

test("harm that ends within a minute counts as repaired, with its duration", () => {
  fc.assert(
    fc.property(fc.integer({ min: 5, max: 250 }), fc.integer({ min: 5, max: 40 }), (steps, from) => {
      const cut = [from * STEP_MS, Math.min(55_000, (from + steps) * STEP_MS)] as const;
      const { verdict } = follow({ cut: { [shop.name]: cut } });
      expect(verdict).toMatchObject({ is: "repaired", harmed: [shop.name] });
      const after = verdict.is === "repaired" ? verdict.afterMs : 0;
      expect(after).toBeGreaterThanOrEqual(cut[1] - STEP_MS);
      expect(after).toBeLessThanOrEqual(cut[1] + 3_000);
    }),
    { seed: 1 },
  );
});

test("harm that continues is silent, unless a cause at the node is reported", () => {
  const cut = { [shop.name]: [1_000, 1e9] as const };
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 59_000 }), fc.constantFrom("node1", "node2", "node3"), (namedAt, node) => {
      const { verdict } = follow({ cut, causes: (atMs) => (atMs >= namedAt ? [cause(node)] : []) });
      expect(verdict).toMatchObject({ is: node === "node2" ? "named" : "silent", harmed: [shop.name] });
    }),
    { seed: 1, numRuns: 40 },
  );
});

test("a cause is right only in a layer that carries the harmed traffic", () => {
  expect(isRight(cause("node2", "connectivity"), "node2", [shop])).toBe(false);
  expect(isRight(cause("node2", "connectivity"), "node2", [shop, web])).toBe(true);
  expect(isRight(cause("node2", "failover"), "node2", [shop, web])).toBe(false);
});

test("either end of a path is right if the other is named too", () => {
  expect(isRight(cause("node1", "router", "Overlay/node1@node1: frames do not arrive at node2"), "node2", [shop])).toBe(true);
  expect(isRight(cause("node1", "router", "Overlay/node1@node1: frames do not arrive at node2, node3"), "node2", [shop])).toBe(false);
});

const at = (atMs: number) => ({ atMs, lost: new Map(), passed: new Map([[web.name, atMs]]) });

test("a flow that no longer sends is harmed, although nothing is lost", () => {
  expect(harmedFlows([at(0)], at(3_000), flows)).toEqual([shop]);
  expect(harmedFlows([at(0)], at(2_000), flows)).toEqual([]);
});
