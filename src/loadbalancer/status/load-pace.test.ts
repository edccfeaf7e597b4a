import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LoadRateLimit } from "./load-pace.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const taking = (ms: number) => () => void vi.advanceTimersByTime(ms);

test("what is quick is looked at whenever it changes", () => {
  const pace = new LoadRateLimit();
  for (let nth = 0; nth < 5; nth++) {
    expect(pace.waitMs).toBe(0);
    pace.run(taking(0));
  }
});

test("after a look that took its time there is a pause in proportion to it, and no longer than ten seconds", () => {
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

test("a look that fails counts as one", () => {
  const pace = new LoadRateLimit();
  expect(() => pace.run(failing)).toThrow("no");
  expect(pace.waitMs).toBe(2_000);
});
