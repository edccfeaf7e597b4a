import { expect, test } from "vitest";
import { growthOf } from "./memory-growth.ts";

const every10s = (mib: (nth: number) => number, count = 30) =>
  Array.from({ length: count }, (_, nth) => ({ atMs: nth * 10_000, mib: mib(nth) }));

test("a heap that comes and goes is flat, one that only grows is not", () => {
  expect(growthOf(every10s((nth) => 90 + (nth % 5) * 6))).toBeUndefined();
  expect(growthOf(every10s((nth) => 90 + nth * 4))).toBe("grew from 130 to 194 MiB");
});

test("what a process takes to get warm does not count, and a short life tells nothing", () => {
  expect(growthOf(every10s((nth) => (nth < 6 ? 40 : 100)))).toBeUndefined();
  expect(growthOf(every10s((nth) => 50 + nth * 50, 8))).toBeUndefined();
});
