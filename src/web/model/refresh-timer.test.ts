import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { DashboardModel } from "./model.ts";
import { RefreshTimer } from "./refresh-timer.ts";

const log = { error: vi.fn<() => void>() };
let now = 0;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
  now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function pass(ms: number): Promise<void> {
  now += ms;
  await vi.advanceTimersByTimeAsync(ms);
}

test("slow refreshes run less often, so that the process has time for other work", async () => {
  let isStale = false;
  let ring: (() => void) | undefined;
  const built: number[] = [];
  let costMs = 1;
  const model = {
    get isStale() {
      return isStale;
    },
    onStale: (listener: () => void) => {
      ring = listener;
      return () => undefined;
    },
    refresh() {
      isStale = false;
      built.push(now);
      now += costMs;
    },
  };
  const timer = new RefreshTimer(model as unknown as DashboardModel, log);
  const end = new AbortController();
  const change = () => {
    isStale = true;
    ring?.();
  };
  const paintedWithin = async (ms: number) => {
    built.length = 0;
    for (const until = now + ms; now < until;) {
      void timer.next(timer.beats, 60_000, end.signal);
      change();
      await pass(50);
    }
    return built.length;
  };
  expect(await paintedWithin(2_000)).toBeGreaterThanOrEqual(8);
  costMs = 400;
  await paintedWithin(2_000);
  expect(await paintedWithin(10_000)).toBeLessThanOrEqual(5);
  costMs = 1;
  await paintedWithin(5_000);
  expect(await paintedWithin(2_000)).toBeGreaterThanOrEqual(8);
  end.abort();
  timer.stop();
});

test("a failed refresh is logged and retried with the next change", async () => {
  let built = 0;
  let ring: (() => void) | undefined;
  const refresh = () => {
    built += 1;
    if (built === 1) throw new TypeError("nothing to paint with");
  };
  const onStale = (listener: () => void) => {
    ring = listener;
    return () => undefined;
  };
  const timer = new RefreshTimer({ isStale: true, onStale, refresh } as unknown as DashboardModel, log);
  ring?.();
  await pass(30_000);
  expect([built, log.error.mock.calls.length]).toEqual([1, 1]);
  ring?.();
  await pass(30_000);
  expect([built, log.error.mock.calls.length]).toEqual([2, 1]);
  timer.stop();
});
