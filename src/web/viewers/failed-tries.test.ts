import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FailedTries } from "./failed-tries.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("ten wrong tokens of one address within a minute are too many from there, and from nowhere else", () => {
  const tries = new FailedTries();
  for (let count = 0; count < 10; count += 1) {
    expect(tries.areTooMany("192.0.2.1")).toBe(false);
    tries.add("192.0.2.1");
  }
  expect(tries.areTooMany("192.0.2.1")).toBe(true);
  expect(tries.areTooMany("192.0.2.2")).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect(tries.areTooMany("192.0.2.1")).toBe(false);
});

test("a hundred wrong tokens within a minute are too many wherever they come from", () => {
  const tries = new FailedTries();
  for (let count = 0; count < 100; count += 1) tries.add(`2001:db8::${count.toString(16)}`);
  expect(tries.areTooMany("192.0.2.9")).toBe(true);
});
