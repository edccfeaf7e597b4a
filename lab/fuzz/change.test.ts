import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Change, changeText, chooseChange, mulberry32 } from "./change.ts";
import { type ObjectKind } from "./kernel-changes.ts";

const kinds: readonly ObjectKind[] = ["link", "route", "sysctl", "frr"];
const change = fc.record({
  node: fc.constantFrom("node1" as const, "node2" as const),
  scope: fc.constantFrom("host" as const, "router" as const),
  kind: fc.constantFrom(...kinds),
  make: fc.string({ minLength: 1 }),
  undo: fc.constant(""),
});
const changes = fc.uniqueArray(change, { minLength: 1, maxLength: 20, selector: changeText });

test("the same seed chooses the same change, for any order of the objects", () => {
  fc.assert(
    fc.property(changes, fc.nat(), (possible, seed) => {
      const chosen = chooseChange(possible, mulberry32(seed));
      expect(possible).toContain(chosen);
      expect(chooseChange(possible.toReversed(), mulberry32(seed))).toEqual(chosen);
    }),
    { seed: 1 },
  );
});

const of = (kind: ObjectKind, count: number) =>
  Array.from({ length: count }, (_, nth): Change => ({ node: "node1", scope: "host", kind, make: `${kind} ${nth}`, undo: "" }));

test("a kind with few objects is chosen as often as one with many", () => {
  const possible = [...of("sysctl", 500), ...of("rule", 2)];
  const random = mulberry32(3);
  const rules = Array.from({ length: 400 }, () => chooseChange(possible, random)).filter((chosen) => chosen?.kind === "rule").length;
  expect(rules).toBeGreaterThan(150);
  expect(rules).toBeLessThan(250);
});

test("without objects no change is chosen", () => {
  expect(chooseChange([], mulberry32(1))).toBeUndefined();
});
