import { expect, test } from "vitest";
import { seconds } from "./duration.ts";

test.each([
  ["0", 0],
  ["3s", 3],
  ["1m30s", 90],
  ["1h0m0.5s", 3600.5],
  ["1500ms", 1.5],
  [".5s", 0.5],
  ["-2s", -2],
  ["2.999s", 2.999],
  ["0.1s0.2s", 0.3],
  ["3µs", 0.000_003],
])("%s is %d seconds", (text, value) => {
  expect(seconds(text)).toBe(value);
});

test.each(["", "1", "1d", "s", "1h 30m", "1m-1s", ".", "3s\n", "x".repeat(70)])("%j is no length of time", (text) => {
  expect(seconds(text)).toBeUndefined();
});
