import { expect, test } from "vitest";
import { badMeasures, tinyBench, WAITING } from "../support/tiny-bench.ts";

test.for(WAITING)("%s returns finite figures without an error", async (name) => {
  const measures = await tinyBench(name);
  expect(measures.length).toBeGreaterThan(0);
  expect(badMeasures(name, measures)).toEqual([]);
});
