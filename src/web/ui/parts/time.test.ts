import { expect, test } from "vitest";
import { durationSince, milliseconds } from "./time.tsx";

test("a duration has at most two units, and none that is zero", () => {
  const texts = [0, 4_400, 59_600, 200_000, 7_200_000, 7_500_000, 90_000_000, 363_600_000].map(durationSince);
  expect(texts).toEqual(["0s", "4s", "1m", "3m 20s", "2h", "2h 5m", "1d 1h", "4d 5h"]);
});

test("a time in the future is not negative", () => {
  expect(durationSince(-5_000)).toBe("0s");
});

test("a latency has about two digits", () => {
  expect([0.123, 2.84, 28.4, 1_234, 12_345].map(milliseconds)).toEqual(["0.12 ms", "2.8 ms", "28 ms", "1.2 s", "12s"]);
});
