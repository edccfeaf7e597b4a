import { expect, test } from "vitest";
import { FAULTS } from "../faults/faults.ts";
import type { FaultOnNode } from "./runner.ts";
import { pairsOf } from "./pairs.ts";

const ALL: FaultOnNode[] = Object.entries(FAULTS).flatMap(([name, fault]) => {
  const expected = fault.expect?.("node2");
  return expected ? [{ name, fault, node: "node2" as const, expected }] : [];
});

function names(seed: number): string[][] {
  return pairsOf(ALL, 8, seed).map((pair) => pair.map(({ name }) => name));
}

test("the same seed yields the same pairs, and another seed others", () => {
  expect(names(1)).toHaveLength(8);
  expect(names(1)).toEqual(names(1));
  expect(names(1)).not.toEqual(names(2));
});

test("the faults of a pair are of different domains, both explainable, and one interrupts nothing", () => {
  for (const [one, other] of pairsOf(ALL, 200, 3)) {
    expect(one?.fault.domain).not.toBe(other?.fault.domain);
    expect(one?.expected.cause).toBeDefined();
    expect(other?.expected).toMatchObject({ cause: expect.any(RegExp) as RegExp });
    expect(other?.expected.interrupts ?? []).toEqual([]);
  }
});

test("faults that cannot be paired yield no pairs", () => {
  expect(pairsOf(ALL.slice(0, 1), 3, 1)).toEqual([]);
});
