import { expect, test } from "vitest";
import { durationText } from "./duration.ts";

test.each([
  [0, "0s"],
  [-1, "0s"],
  [0.000_001, "1ns"],
  [0.0125, "12.5µs"],
  [2.845_865, "2.845865ms"],
  [200, "200ms"],
  [999.999_999_9, "1s"],
  [1_200, "1.2s"],
  [60_000, "1m0s"],
  [179_999.789_186, "2m59.999789186s"],
  [180_000, "3m0s"],
  [3_600_000, "1h0m0s"],
  [200 * 86_400_000 + 61_000, "4800h1m1s"],
])("%d ms is %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});
