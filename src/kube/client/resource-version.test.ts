import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compareResourceVersions } from "./resource-version.ts";

test("resourceVersions compare as numbers of any length", () => {
  const number = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 80n }), fc.bigInt({ min: 0n, max: 20n }));
  fc.assert(
    fc.property(number, number, fc.nat(2), (a, b, zeros) => {
      const order = Math.sign(compareResourceVersions("0".repeat(zeros) + String(a), String(b)));
      expect(order).toBe(a < b ? -1 : a > b ? 1 : 0);
    }),
    { seed: 3, numRuns: 500 },
  );
});

test("a version that is not a number cannot be compared", () => {
  expect(compareResourceVersions("abc", "abc")).toBe(0);
  expect(() => compareResourceVersions("abc", "5")).toThrow('resourceVersions "abc" and "5" are not both decimal numbers');
});
