import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KubeError } from "../client/error.ts";
import { WriteBudget, writeWithBudget } from "./budget.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const { signal } = new AbortController();
/** One write a minute, and one at a time. */
const budget = () => {
  const limit = { perSecond: 1 / 60, burst: 1, inFlight: 1 };
  return new WriteBudget({ transition: limit, refresh: limit });
};

test("a write that finds nothing to do returns its permit", async () => {
  const shared = budget();
  expect(await writeWithBudget(shared, "transition", signal, () => Promise.resolve(false))).toBe(false);
  expect(await writeWithBudget(shared, "transition", signal, () => Promise.resolve(true))).toBe(true);
});

test("a sent write counts, and frees its slot, whatever its result", async () => {
  const shared = budget();
  const broken = new KubeError("Unreachable", "connection refused");
  const sent: number[] = [];
  const send = (error: KubeError) =>
    writeWithBudget(shared, "transition", signal, () => {
      sent.push(performance.now());
      return Promise.reject(error);
    });
  await expect(send(broken)).rejects.toBe(broken);
  const faster = Promise.all([send(new KubeError("Conflict", "changed")), send(new KubeError("NotFound", "gone"))]);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(await faster).toEqual([false, false]);
  expect(sent.map((at) => at - (sent[0] ?? 0))).toEqual([0, 60_000, 120_000]);
});
