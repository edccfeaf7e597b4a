import * as fc from "fast-check";
import { expect, test } from "vitest";
import { backoffMs } from "./backoff.ts";

const range = { minMs: 5, maxMs: 300_000 };

test("every wait is within its doubling step and never outside the range", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), (failures) => {
      const step = Math.min(300_000, 5 * 2 ** failures);
      const wait = backoffMs(failures, range);
      expect(wait).toBeGreaterThanOrEqual(Math.round(step / 2));
      expect(wait).toBeLessThanOrEqual(step);
      expect(wait).toBeGreaterThanOrEqual(5);
    }),
    { seed: 3, numRuns: 200 },
  );
});

test("clients that failed together do not retry together", () => {
  expect(new Set(Array.from({ length: 100 }, () => backoffMs(12, range))).size).toBeGreaterThan(50);
});
