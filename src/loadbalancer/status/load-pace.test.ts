import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LoadRateLimit } from "./load-pace.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const taking = (ms: number) => () => void vi.advanceTimersByTime(ms);

test("a fast load runs on every change", () => {
  const pace = new LoadRateLimit();
  for (let nth = 0; nth < 5; nth++) {
    expect(pace.waitMs).toBe(0);
    pace.run(taking(0));
  }
});

test("a slow load is followed by a proportional pause of at most ten seconds", () => {
  const pace = new LoadRateLimit();
  pace.run(taking(400));
  expect(pace.waitMs).toBe(2_000);
  vi.advanceTimersByTime(1_999);
  expect(pace.waitMs).toBe(1);
  vi.advanceTimersByTime(1);
  expect(pace.waitMs).toBe(0);
  pace.run(taking(60_000));
  expect(pace.waitMs).toBe(10_000);
});

function failing(): void {
  vi.advanceTimersByTime(400);
  throw new Error("no");
}

test("a failed load counts too", () => {
  const pace = new LoadRateLimit();
  expect(() => pace.run(failing)).toThrow("no");
  expect(pace.waitMs).toBe(2_000);
});
