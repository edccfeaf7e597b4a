import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepRunning } from "./keep-running.ts";

let stop: AbortController;

beforeEach(() => {
  vi.useFakeTimers();
  stop = new AbortController();
});

afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

test("what keeps ending is started again, more slowly each time and never slower than every 30 seconds", async () => {
  const starts: number[] = [];
  const ends: string[] = [];
  const start = () => {
    starts.push(Date.now());
    return Promise.resolve("gone");
  };
  const running = keepRunning(start, stop.signal, (end) => ends.push(end));
  await vi.advanceTimersByTimeAsync(600_000);
  const gaps = starts.slice(1).map((at, n) => at - (starts[n] ?? 0));
  expect(gaps[0]).toBeLessThanOrEqual(100);
  for (const [n, gap] of gaps.entries()) {
    const step = Math.min(30_000, 100 * 2 ** n);
    expect(gap).toBeGreaterThanOrEqual(step / 2);
    expect(gap).toBeLessThanOrEqual(step);
  }
  expect(gaps.length).toBeGreaterThan(15);
  expect(ends).toHaveLength(starts.length);
  stop.abort();
  await running;
});

test("what has run for long is started again at once", async () => {
  let starts = 0;
  const start = () => {
    starts += 1;
    return new Promise<void>((resolve) => setTimeout(resolve, starts > 5 ? 60_000 : 0));
  };
  const running = keepRunning(start, stop.signal);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(starts).toBe(6);
  await vi.advanceTimersByTimeAsync(60_100);
  expect(starts).toBe(7);
  stop.abort();
  await vi.advanceTimersByTimeAsync(60_000);
  await running;
});

test("an end that was asked for is the last, and no news", async () => {
  const ends: unknown[] = [];
  const start = () => new Promise<void>((resolve) => stop.signal.addEventListener("abort", () => resolve()));
  const running = keepRunning(start, stop.signal, (end) => ends.push(end));
  stop.abort();
  await running;
  expect(ends).toEqual([]);
});

test("aborted while it waits, it does not start again", async () => {
  let starts = 0;
  const running = keepRunning(() => Promise.resolve((starts += 1)), stop.signal);
  await vi.advanceTimersByTimeAsync(0);
  stop.abort();
  await running;
  expect(starts).toBe(1);
});
