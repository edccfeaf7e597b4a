import * as fc from "fast-check";
import { expect, test } from "vitest";
import { shortest } from "./minimize.ts";

const always = () => true;
const failsWith =
  (...required: readonly number[]) =>
  (history: readonly number[]) =>
    Promise.resolve(required.every((one) => history.includes(one)));

test("a change that fails alone is found at once, whatever came before it", async () => {
  let tried = 0;
  const fails = (history: readonly number[]) => {
    tried++;
    return failsWith(9)(history);
  };
  expect(await shortest([1, 2, 3, 4, 5, 6, 7, 8, 9], fails, always)).toEqual([9]);
  expect(tried).toBe(1);
});

test("any history is reduced to exactly the needed changes", async () => {
  const numbers = fc.uniqueArray(fc.nat(30), { minLength: 2, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(numbers, fc.nat(), fc.nat(), async (history, one, other) => {
      const required = [...new Set([history[one % history.length], history[other % history.length]])] as number[];
      const found = await shortest(history, failsWith(...required), always);
      expect(new Set(found)).toEqual(new Set(required));
      expect(found).toHaveLength(required.length);
    }),
    { seed: 4, numRuns: 100 },
  );
});

test("a history that does not fail again is reported in full, and without time nothing is run", async () => {
  expect(await shortest([1, 2, 3], () => Promise.resolve(false), always)).toEqual([1, 2, 3]);
  expect(await shortest([1, 2, 3], failsWith(3), () => false)).toEqual([1, 2, 3]);
});
